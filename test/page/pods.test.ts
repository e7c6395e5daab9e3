/** The page in a real browser: who is let in, the table of pods, and that it goes on by itself. */
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { PageServer } from '../../src/page/index.js';
import { type LocalNode, pod, shellPod, startLocalNode } from '../local/local-node.js';
import { openBrowser, openPage } from './browser.js';
import { servePage } from './served-page.js';

let browser: Browser;
let node: LocalNode;
let server: PageServer;

beforeAll(async () => {
  [browser, node] = await Promise.all([openBrowser(), startLocalNode()]);
  server = await servePage(() => node.socketPath);
  node.set(
    shellPod('web', 'sleep 1000'),
    pod('broken', [{ name: 'app', image: 'host', command: ['sh', '-c', 'echo going down; exit 3'] }]),
  );
  await node.ready('web');
});
afterAll(async () => {
  await server?.close();
  await browser?.close();
  await node?.close();
});
afterEach(async () => {
  for (const context of browser.contexts()) await context.close();
});

describe('who is let in', () => {
  it('lets one browser in by an address that works once, and leaves no secret in the address', async () => {
    const address = server.newAddress();
    const { page, faults } = await openPage(browser, address);
    await page.getByRole('row', { name: /web/ }).waitFor();
    expect(new URL(page.url()).hash).toBe('#/pods');
    const cookies = await page.context().cookies();
    expect(cookies).toMatchObject([{ httpOnly: true, sameSite: 'Strict', path: '/' }]);
    await page.reload();
    await page.getByRole('row', { name: /web/ }).waitFor();
    const other = await openPage(browser, address);
    await other.page.getByText('lets one browser in, once').waitFor();
    expect([...faults, ...other.faults]).toEqual([]);
  });

  it('lets a browser out', async () => {
    const { page } = await openPage(browser, server.newAddress());
    await page.getByRole('button', { name: 'Leave' }).click();
    await page.getByRole('alert').waitFor();
    await page.reload();
    await page.getByText('was not let in yet').waitFor();
  });
});

describe('the table of pods', () => {
  it('shows each pod, what it waits for, and what changes', async () => {
    const { page, faults } = await openPage(browser, server.newAddress());
    await page.getByRole('row', { name: /broken.*CrashLoopBackOff.*next try/ }).waitFor();
    node.set(shellPod('web', 'sleep 1000'), shellPod('second', 'sleep 1000'));
    await page.getByRole('row', { name: /second.*1\/1.*Running/ }).waitFor();
    await expect.poll(() => page.getByRole('row', { name: /broken/ }).count()).toBe(0);
    await page.getByRole('searchbox').fill('sec');
    await expect.poll(() => page.getByRole('row').count()).toBe(2);
    expect(faults).toEqual([]);
  });
});
