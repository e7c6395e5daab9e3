/** The page for everybody: each view held against axe in both colour schemes and two widths, and all of it by keyboard alone. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { PageServer } from '../../src/page/index.js';
import { type LocalNode, pod, shellPod, startLocalNode } from '../local/local-node.js';
import { checkAccessibility } from './axe.js';
import { openBrowser, openPage } from './browser.js';
import { servePage } from './served-page.js';

let browser: Browser;
let node: LocalNode;
let server: PageServer;

const longName = `a-pod-${'with-a-long-name-'.repeat(12)}end`;

beforeAll(async () => {
  [browser, node] = await Promise.all([openBrowser(), startLocalNode()]);
  server = await servePage(() => node.socketPath, { name: 'run default' });
  node.set(
    shellPod('web', 'echo "hello"; sleep 1000'),
    pod('crash', [{ name: 'app', image: 'host', command: ['sh', '-c', 'echo last words; exit 3'] }]),
    pod('probed', [
      {
        name: 'app',
        image: 'host',
        command: ['sleep', '1000'],
        resources: { requests: { cpu: '10m', memory: '16Mi' } },
        readinessProbe: { exec: { command: ['false'] }, periodSeconds: 1, failureThreshold: 1 },
      },
    ]),
    shellPod(longName, 'sleep 1000'),
  );
  await node.ready('web');
  await node.until('crash', ({ status }) => (status?.containerStatuses?.[0]?.restartCount ?? 0) > 0);
});
afterAll(async () => {
  await server?.close();
  await browser?.close();
  await node?.close();
});
afterEach(async () => {
  for (const context of browser.contexts()) await context.close();
});

const uidOf = (name: string): string => encodeURIComponent(`uid-default-${name}`);

interface View {
  readonly hash: string;
  /** Waits until the view has what it shows. */
  readonly shown: (page: Page) => Promise<unknown>;
}

const views: Readonly<Record<string, View>> = {
  pods: { hash: '#/pods', shown: (page) => page.getByRole('row', { name: /crash/ }).waitFor() },
  'a pod that fails': {
    hash: `#/pods/${uidOf('crash')}/overview`,
    shown: (page) => page.locator('pre', { hasText: 'last words' }).waitFor(),
  },
  'a pod with probes': {
    hash: `#/pods/${uidOf('probed')}/overview`,
    shown: (page) => page.getByRole('heading', { name: 'Resources' }).waitFor(),
  },
  logs: {
    hash: `#/pods/${uidOf('web')}/logs`,
    shown: (page) => page.getByRole('log').getByText('hello').waitFor(),
  },
  'a terminal': {
    hash: `#/pods/${uidOf('web')}/terminal`,
    shown: async (page) => {
      await page.getByRole('button', { name: 'Open' }).click();
      await page.locator('.xterm-screen').waitFor();
    },
  },
  events: {
    hash: `#/pods/${uidOf('crash')}/events`,
    shown: (page) => page.getByRole('heading', { name: 'All steps' }).waitFor(),
  },
  manifest: {
    hash: `#/pods/${uidOf('web')}/manifest`,
    shown: (page) => page.locator('pre', { hasText: 'kind: Pod' }).waitFor(),
  },
  'a pod that nobody knows': {
    hash: '#/pods/none/overview',
    shown: (page) => page.getByText('Nothing is known of this pod any more.').waitFor(),
  },
  node: {
    hash: '#/node',
    shown: async (page) => {
      await page.getByText('Gates and limits in use').waitFor();
      await page.getByRole('row', { name: /^memory \d/ }).waitFor();
    },
  },
  starts: {
    hash: '#/starts',
    shown: (page) => page.getByRole('heading', { name: /The last \d+ start/ }).waitFor(),
  },
  'what if': {
    hash: '#/what-if',
    shown: (page) => page.getByRole('heading', { name: 'A shutdown of the machine' }).waitFor(),
  },
};

const widths = { desktop: { width: 1280, height: 860 }, phone: { width: 360, height: 740 } } as const;

describe.each(['light', 'dark'] as const)('in %s', (colorScheme) => {
  it.each(['desktop', 'phone'] as const)('breaks no rule of axe on a %s', async (width) => {
    const { page } = await openPage(browser, server.newAddress(), {
      colorScheme,
      reducedMotion: 'reduce',
      viewport: widths[width],
    });
    await page.getByRole('heading', { level: 1, name: 'Pods' }).waitFor();
    for (const [name, { hash, shown }] of Object.entries(views)) {
      await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
      await shown(page);
      const { violations, kept } = await checkAccessibility(page);
      expect(violations, name).toEqual([]);
      expect(kept, name).toContain('color-contrast');
      expect(await page.evaluate('document.getAnimations().length'), name).toBe(0);
      expect(await page.evaluate('document.documentElement.scrollWidth'), name).toBeLessThanOrEqual(
        widths[width].width,
      );
    }
  });
});

/** What has the focus, and whether it is seen to have it. */
interface Stop {
  readonly words: string;
  readonly seen: boolean;
}

const stopHere = `(() => {
  const element = document.activeElement;
  if (element === null || element === document.body) return null;
  const { outlineStyle, outlineWidth } = getComputedStyle(element);
  const { width, height } = element.getBoundingClientRect();
  const words = element.getAttribute('aria-label') ?? document.getElementById(element.getAttribute('aria-labelledby') ?? '')?.textContent
    ?? element.labels?.[0]?.textContent ?? element.textContent;
  return { words: words.trim(), seen: outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 1 && width > 1 && height > 1 };
})()`;

const stopOf = async (page: Page): Promise<Stop | null> =>
  // The script above returns this shape.
  (await page.evaluate(stopHere)) as Stop | null;

const mostStops = 80;

/** All stops of Tab, from the top of the page to its end. */
async function stopsOf(page: Page): Promise<Stop[]> {
  await page.evaluate('document.activeElement.blur()');
  await page.mouse.click(1, 1);
  const stops: Stop[] = [];
  while (stops.length < mostStops) {
    await page.keyboard.press('Tab');
    const stop = await stopOf(page);
    if (stop === null) break;
    stops.push(stop);
  }
  return stops;
}

/** Presses a key until what has the focus has such a name. */
async function tabTo(page: Page, name: RegExp, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> {
  const passed: string[] = [];
  while (passed.length < mostStops) {
    await page.keyboard.press(key);
    const words = (await stopOf(page))?.words ?? '';
    if (name.test(words)) return;
    passed.push(words);
  }
  throw new Error(`${key} does not lead to ${name}: ${passed.join(' | ')}`);
}

describe('by keyboard alone', () => {
  it('leads from the table to a pod, through its tabs, into a terminal and out of it, and to the other views', async () => {
    const { page, faults } = await openPage(browser, server.newAddress());
    await page.getByRole('row', { name: /crash/ }).waitFor();
    await tabTo(page, /^web$/);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'web' }).waitFor();

    await tabTo(page, /^app$/);
    await page.keyboard.press('Home');
    await page.getByText(/^app: /).waitFor();
    const lane = page.getByRole('listbox', { name: 'app' });
    const first = await lane.getAttribute('aria-activedescendant');
    await page.keyboard.press('End');
    await expect.poll(() => lane.getAttribute('aria-activedescendant')).not.toBe(first);
    expect(await lane.getByRole('option', { selected: true }).getAttribute('aria-label')).toContain(
      'Running',
    );

    await page.evaluate('document.getElementById("main").focus()');
    await tabTo(page, /^Logs$/);
    await page.keyboard.press('Enter');
    await page.getByRole('log').getByText('hello').waitFor();
    await tabTo(page, /^Lines of the log$/);

    await page.evaluate('document.getElementById("main").focus()');
    await tabTo(page, /^Terminal$/);
    await page.keyboard.press('Enter');
    await tabTo(page, /^Open$/);
    await page.keyboard.press('Enter');
    await page.locator('.xterm-screen').waitFor();
    await page.keyboard.type('echo $((6 * 7))$((6 * 7))\n');
    await expect.poll(() => page.locator('.xterm-rows').textContent(), { timeout: 20_000 }).toMatch(/4242/);
    const isInTerminal = (): Promise<unknown> =>
      page.evaluate('document.activeElement.closest(".terminal") !== null');
    await page.keyboard.press('Tab');
    expect(await isInTerminal()).toBe(true);
    await page.keyboard.press('Escape');
    await page.keyboard.press('Shift+Tab');
    expect(await isInTerminal()).toBe(false);

    for (const [link, heading] of [
      ['Node', 'here'],
      ['Why is this slow', 'Why is this slow'],
      ['What if', 'What if'],
      ['Pods', 'Pods'],
    ] as const) {
      // Each view begins with the focus on its content, below the links.
      await tabTo(page, new RegExp(`^${link}$`), 'Shift+Tab');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { level: 1, name: heading }).waitFor();
      await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('main');
    }
    expect(faults).toEqual([]);
  });

  it.each(['desktop', 'phone'] as const)(
    'shows on a %s where the focus is, and catches it nowhere',
    async (width) => {
      const { page } = await openPage(browser, server.newAddress(), { viewport: widths[width] });
      await page.getByRole('row', { name: /crash/ }).waitFor();
      for (const [name, { hash, shown }] of Object.entries(views)) {
        if (name === 'a terminal') continue;
        await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
        await shown(page);
        // A view that comes takes the focus, a moment after it is drawn.
        if (name !== 'pods') await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('main');
        const stops = await stopsOf(page);
        expect(stops.length, name).toBeGreaterThan(5);
        expect(stops.length, name).toBeLessThan(mostStops);
        expect(
          stops.filter(({ seen, words }) => !seen || words === ''),
          name,
        ).toEqual([]);
      }
    },
  );
});

describe('to a reader of the screen', () => {
  it('is a table with rows, heads of columns and cells, whatever its look', async () => {
    for (const viewport of Object.values(widths)) {
      const { page } = await openPage(browser, server.newAddress(), { viewport });
      await page.getByRole('row', { name: /crash/ }).waitFor();
      const session = await page.context().newCDPSession(page);
      const { nodes } = await session.send('Accessibility.getFullAXTree');
      const roles = nodes.filter(({ ignored }) => !ignored).map(({ role }) => String(role?.value));
      const countOf = (role: string): number => roles.filter((one) => one === role).length;
      expect([countOf('table'), countOf('row'), countOf('columnheader'), countOf('rowheader')]).toEqual([
        1, 5, 6, 4,
      ]);
    }
  });

  it('says nothing by itself while pods change', async () => {
    const { page } = await openPage(browser, server.newAddress());
    await page.getByRole('row', { name: /crash/ }).waitFor();
    await page.getByText('live', { exact: true }).waitFor();
    await page.evaluate(`(() => {
      window.said = [];
      new MutationObserver((changes) => {
        for (const { target } of changes) {
          const element = target.nodeType === 3 ? target.parentElement : target;
          const region = element?.closest('[aria-live]:not([aria-live=off]), [role=status], [role=alert], [role=log]:not([aria-live=off])');
          if (region) window.said.push(region.textContent);
        }
      }).observe(document.body, { subtree: true, childList: true, characterData: true });
    })()`);
    for (const name of ['pods', 'a pod that fails'] as const) {
      await page.evaluate(`location.hash = ${JSON.stringify(views[name]?.hash)}`);
      await views[name]?.shown(page);
      const before = await page.evaluate('document.body.textContent');
      await expect
        .poll(() => page.evaluate('document.body.textContent'), { timeout: 30_000 })
        .not.toBe(before);
    }
    expect(await page.evaluate('window.said')).toEqual([]);
  });
});
