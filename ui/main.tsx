/** The page: lets the browser in, follows the node, and draws the view that the address names. */
import { render } from 'preact';
import { Frame } from './frame.js';
import { followRoute } from './route.js';
import { openSession } from './session.js';

async function main(): Promise<void> {
  const place = document.getElementById('page');
  if (place === null) return;
  await openSession();
  followRoute();
  render(<Frame />, place);
}

void main();
