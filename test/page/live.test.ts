/** The page over time: a node that dies and comes back, and the other views. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { PageServer } from '../../src/page/index.js';
import { openBrowser, openPage } from './browser.js';
import { FakeNode } from './fake-node.js';
import { servePage } from './served-page.js';

let browser: Browser;
let dir: string;
let node: FakeNode;
let server: PageServer;

beforeAll(async () => {
  dir = mkdtempSync(path.join(tmpdir(), 'nodelet-page-'));
  browser = await openBrowser();
  node = new FakeNode(path.join(dir, 's'));
  await node.start();
  server = await servePage(() => node.socketPath);
});
afterAll(async () => {
  await server?.close();
  await browser?.close();
  await node?.stop();
  rmSync(dir, { recursive: true, force: true });
});
afterEach(async () => {
  for (const context of browser.contexts()) await context.close();
});

it('says when the node is gone, and goes on when it comes back with other pods', async () => {
  node.setPods('first', 'second');
  const { page, faults } = await openPage(browser, server.newAddress());
  await page.getByRole('row', { name: /second/ }).waitFor();
  await node.stop();
  await page.getByText(/^lost at .* trying again/).waitFor();
  // What was known stays.
  expect(await page.getByRole('row', { name: /second/ }).count()).toBe(1);
  node.setPods('second', 'third');
  await node.start();
  await page.getByRole('row', { name: /third/ }).waitFor();
  await page.getByText('live', { exact: true }).waitFor();
  await expect.poll(() => page.getByRole('row', { name: /first/ }).count()).toBe(0);
  expect(faults).toEqual([]);
});

describe('the other views', () => {
  it('shows the node, where time goes, and what would happen', async () => {
    node.setPods('only');
    const { page } = await openPage(browser, server.newAddress());
    await page.getByRole('row', { name: /only/ }).waitFor();
    const views = page.getByRole('navigation', { name: 'Views' });
    await views.getByRole('link', { name: 'Why is this slow' }).click();
    await page.getByRole('row', { name: /^pulling images 5\.00 s 5\.00 s/ }).waitFor();
    await page
      .getByRole('img', { name: /pulling images 5\.00 s/ })
      .first()
      .waitFor();
    await views.getByRole('link', { name: 'Node' }).click();
    await page.getByText('the node is not served here').first().waitFor();
    await page.getByText('Check ping').waitFor();
    await views.getByRole('link', { name: 'What if' }).click();
    // The view before it says the same.
    await expect.poll(() => page.title()).toBe('What if · nodelet');
    await page.getByText('the node is not served here').first().waitFor();
  });
});

describe('for everybody', () => {
  it('works by keyboard alone, and tells each view by its focus and its title', async () => {
    node.setPods('only');
    const { page } = await openPage(browser, server.newAddress());
    await page.getByRole('row', { name: /only/ }).waitFor();
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to the content');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('main');
    await page.getByRole('link', { name: 'only' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'only' }).waitFor();
    await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('main');
    expect(await page.title()).toBe('only · nodelet');
    for (const role of ['banner', 'main'] as const) expect(await page.getByRole(role).count()).toBe(1);
  });
});
