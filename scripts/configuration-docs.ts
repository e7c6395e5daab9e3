/** Writes docs/configuration.md from the tables of fields, flags and gates; with `--check` it only tells whether that is due. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { configurationDocs } from './docs/configuration.js';

const place = join(import.meta.dirname, '../docs/configuration.md');
const text = configurationDocs();
if (!process.argv.includes('--check')) writeFileSync(place, text);
else if (readFileSync(place, 'utf8') !== text) {
  console.error('docs/configuration.md is older than the tables that it is made from: run `npm run docs`');
  process.exitCode = 1;
}
