/** The picture of the page that the README shows: made by looking at a pod that fails. `npm run picture` writes docs/page.png. */
import { statSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { PageServer } from '../../src/page/index.js';
import { type LocalNode, shellPod, startLocalNode } from '../local/local-node.js';
import { openBrowser, openPage } from './browser.js';
import { servePage } from './served-page.js';

const picture = fileURLToPath(new URL('../../docs/page.png', import.meta.url));
/** The README is read over slow lines, too. */
const mostBytes = 150_000;

let browser: Browser;
let node: LocalNode;
let server: PageServer;

beforeAll(async () => {
  [browser, node] = await Promise.all([openBrowser(), startLocalNode()]);
  server = await servePage(() => node.socketPath, { name: 'run default' });
  node.set(
    shellPod(
      'shop',
      'echo "reading /etc/shop/config.yaml"; sleep 2; echo "panic: no database at db:5432"; exit 2',
    ),
    shellPod('web', 'sleep 1000'),
  );
});
afterAll(async () => {
  await server?.close();
  await browser?.close();
  await node?.close();
});

it('shows at a glance why a pod fails, and is small enough for the README', async () => {
  await node.until(
    'shop',
    ({ status }) =>
      (status?.containerStatuses?.[0]?.restartCount ?? 0) > 0 &&
      status?.containerStatuses?.[0]?.state?.waiting?.reason === 'CrashLoopBackOff',
  );
  const { page, faults } = await openPage(browser, server.newAddress(), {
    viewport: { width: 1120, height: 680 },
    colorScheme: 'light',
  });
  await page.getByRole('link', { name: 'shop' }).click();
  await page.locator('pre', { hasText: 'panic: no database at db:5432' }).waitFor();
  await page.getByRole('listbox', { name: 'app' }).focus();
  await page.keyboard.press('Home');
  while ((await page.getByText(/^app: Exited with 2.*because/).count()) === 0)
    await page.keyboard.press('ArrowRight');
  for (const shown of ['What it said last', 'Its life', 'Waits for', 'What would help'])
    expect(await page.getByText(shown, { exact: true }).first().isVisible(), shown).toBe(true);
  await page.evaluate('window.scrollTo(0, 0)');
  const taken = await page.screenshot();
  expect(taken.length).toBeLessThan(mostBytes);
  if (process.env.NODELET_WRITES_PICTURE !== undefined) writeFileSync(picture, taken);
  expect(statSync(picture).size).toBeLessThan(mostBytes);
  expect(faults).toEqual([]);
});
