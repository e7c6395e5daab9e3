/** The page over time: a node that dies and comes back, the other views, and how they look. */
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
    await page.getByText('the node is not served here').first().waitFor();
    expect(await page.title()).toBe('What if · nodelet');
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
    expect(await page.evaluate('document.activeElement.id')).toBe('main');
    expect(await page.title()).toBe('only · nodelet');
    for (const role of ['banner', 'main'] as const) expect(await page.getByRole(role).count()).toBe(1);
  });

  it.each(['light', 'dark'] as const)('has enough contrast, and fits a phone: %s', async (colorScheme) => {
    node.setPods(
      'only',
      'a-name-that-is-far-too-long-for-the-width-of-a-phone-and-goes-on-and-on-and-on-and-on',
    );
    const { page } = await openPage(browser, server.newAddress(), {
      colorScheme,
      reducedMotion: 'reduce',
      viewport: { width: 360, height: 740 },
    });
    await page.getByRole('row', { name: /only/ }).waitFor();
    const views = [
      '#/pods',
      `#/pods/${encodeURIComponent(node.uidOf('only'))}/overview`,
      '#/node',
      '#/starts',
      '#/what-if',
    ];
    for (const view of views) {
      await page.evaluate(`location.hash = '${view}'`);
      await page.locator('h1').waitFor();
      await page.waitForTimeout(300);
      expect(await page.evaluate('document.documentElement.scrollWidth'), view).toBeLessThanOrEqual(360);
      expect(await page.evaluate(lowContrast), view).toEqual([]);
    }
  });
});

/** The texts whose contrast with what is behind them is below 4.5 (WCAG 2.2, 1.4.3). */
const lowContrast = `(() => {
  const parse = (color) => (color.match(/[\\d.]+/g) ?? []).map(Number);
  const light = (color) => {
    const [r, g, b] = parse(color).map((value) => value / 255).map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let one = element; one !== null; one = one.parentElement) {
      const color = getComputedStyle(one).backgroundColor;
      const [, , , alpha = 1] = parse(color);
      if (alpha === 1) return color;
    }
    return 'rgb(255,255,255)';
  };
  const found = new Set();
  for (const element of document.querySelectorAll('#page *')) {
    const own = [...element.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim() !== '');
    if (!own || element.clientWidth <= 1 || element.closest('.track')?.clientWidth === 0) continue;
    const [a, b] = [light(getComputedStyle(element).color), light(behind(element))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) found.add(element.className + ' ' + element.textContent.slice(0, 30) + ' ' + ratio.toFixed(2));
  }
  return [...found];
})()`;
