/** What a change costs the page: 250 pods that change all the time are drawn as few times, and by as little work each, as 25. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Browser, CDPSession, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import type { PageServer } from '../../src/page/index.js';
import { openBrowser, openPage } from './browser.js';
import { FakeNode } from './fake-node.js';
import { servePage } from './served-page.js';

const few = 25;
const many = 250;
const tickMs = 100;
const ticks = 20;
const changesPerTick = 5;

let browser: Browser;
let dir: string;
let node: FakeNode;
let server: PageServer;

beforeAll(async () => {
  dir = mkdtempSync(path.join(tmpdir(), 'nodelet-frames-'));
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

const namesOf = (count: number): string[] =>
  Array.from({ length: count }, (_, at) => `pod-${String(at).padStart(3, '0')}`);

/** Counts what changes in the table: texts, nodes that come and go, and the rows that they are in. */
const watchTable = `(() => {
  const seen = (window.seen = { texts: 0, nodes: 0, rows: new Set(), shifts: 0, elsewhere: 0 });
  new MutationObserver((changes) => {
    for (const change of changes) {
      const element = change.target.nodeType === 3 ? change.target.parentElement : change.target;
      const row = element?.closest('tbody tr');
      if (row === null || row === undefined) { if (element?.closest('table')) seen.elsewhere++; continue; }
      if (change.type === 'childList') seen.nodes += change.addedNodes.length + change.removedNodes.length;
      else seen.texts++;
      seen.rows.add(row.querySelector('th').textContent);
    }
  }).observe(document.querySelector('table.pods'), { subtree: true, childList: true, characterData: true, attributes: true });
  new PerformanceObserver((list) => { seen.shifts += list.getEntries().length; }).observe({ type: 'layout-shift' });
})()`;

interface Seen {
  readonly texts: number;
  readonly nodes: number;
  readonly rows: readonly string[];
  /** Rows that moved because another one changed. */
  readonly shifts: number;
  readonly elsewhere: number;
}

const seenOf = async (page: Page): Promise<Seen> =>
  // `watchTable` counts these.
  (await page.evaluate('({ ...window.seen, rows: [...window.seen.rows].sort() })')) as Seen;

async function openTable(names: readonly string[]): Promise<{ page: Page; faults: string[] }> {
  node.setPods(...names);
  const opened = await openPage(browser, server.newAddress());
  const { page } = opened;
  await page.getByText(`${names.length} pods`).waitFor({ timeout: 60_000 });
  await page.evaluate(watchTable);
  // A busy machine draws the first rows late: counting begins when a second has brought nothing new.
  await expect
    .poll(
      async () => {
        await page.evaluate(
          'Object.assign(window.seen, { texts: 0, nodes: 0, shifts: 0, elsewhere: 0 }), window.seen.rows.clear()',
        );
        await page.waitForTimeout(1_000);
        const { texts, nodes } = await seenOf(page);
        return texts + nodes;
      },
      { timeout: 30_000 },
    )
    .toBe(0);
  return opened;
}

/** Pods change at each tick; returns when the page shows the last change. */
async function changeAtEachTick(page: Page, names: readonly string[], ready: number): Promise<string[]> {
  const changed: string[] = [];
  for (let tick = 0; tick < ticks; tick++) {
    for (let at = 0; at < changesPerTick; at++) {
      const name = names[(tick * changesPerTick + at) % names.length] ?? '';
      node.change(name, ready);
      changed.push(name);
    }
    await page.waitForTimeout(tickMs);
  }
  const all = [...new Set(changed)].sort();
  await expect
    .poll(() => page.locator('tbody tr', { hasText: `${ready}/3` }).count(), { timeout: 30_000 })
    .toBe(all.length);
  return all;
}

it('draws nothing but what has changed, where pods of 250 change at each tick of 100 ms', async () => {
  const names = namesOf(many);
  const { page, faults } = await openTable(names);
  const changed = await changeAtEachTick(page, names, 3);
  const seen = await seenOf(page);
  expect(seen.rows).toEqual(changed);
  // A change writes texts of its own row, once; no row is made anew, and none moves.
  expect(seen.texts).toBeLessThanOrEqual(changed.length * 4);
  expect(seen).toMatchObject({ nodes: 0, shifts: 0, elsewhere: 0 });
  expect(faults).toEqual([]);
});

it('does as much for a change of one pod of 250 as of one of 25', async () => {
  const ofFew = await costOfChanges(few);
  const ofMany = await costOfChanges(many);
  expect(ofFew.calls).toBeGreaterThan(0);
  // Work on the whole table would be ten times as much. A change is drawn once or twice, as its status and its entry come
  // together or not.
  expect(ofMany.calls / ofFew.calls).toBeLessThan(2.5);
  // The changed texts with their cells and rows, and what they are in: the cells of other rows keep their places.
  const objectsPerRow = 6;
  const objectsAround = 12;
  const most = few * objectsPerRow + objectsAround;
  expect(ofFew.mostLaidOut).toBeLessThanOrEqual(most);
  expect(ofMany.mostLaidOut).toBeLessThanOrEqual(most);
  // Rows out of sight have no boxes.
  expect(ofMany.boxes).toBeLessThan(ofFew.boxes * 4);
});

/** Of the same changes, among so many pods. */
async function costOfChanges(count: number): Promise<Cost> {
  // The timeline begins anew, so that each pod has as many entries as in the other round.
  await node.stop();
  await node.start();
  const names = namesOf(count);
  const { page } = await openTable(names);
  const counter = await CostCounter.of(page);
  await counter.begin();
  await changeAtEachTick(page, names.slice(0, few), 3);
  return counter.end();
}

interface Cost {
  /** Calls of functions of the page. */
  readonly calls: number;
  /** The most objects that one layout had to lay out anew. */
  readonly mostLaidOut: number;
  /** Objects that the layout has. */
  readonly boxes: number;
}

/** The format of Chromium's traces. */
interface Trace {
  readonly traceEvents: readonly {
    readonly name: string;
    readonly args?: {
      readonly beginData?: { readonly dirtyObjects?: number; readonly totalObjects?: number };
    };
  }[];
}

/** Counts by the browser's own instruments, which do not depend on how quick the machine is. */
class CostCounter {
  readonly #page: Page;
  readonly #session: CDPSession;

  private constructor(page: Page, session: CDPSession) {
    this.#page = page;
    this.#session = session;
  }

  static async of(page: Page): Promise<CostCounter> {
    return new CostCounter(page, await page.context().newCDPSession(page));
  }

  async begin(): Promise<void> {
    await this.#session.send('Profiler.enable');
    await this.#session.send('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    await this.#session.send('Profiler.takePreciseCoverage');
    await browser.startTracing(this.#page, { categories: ['devtools.timeline'] });
  }

  async end(): Promise<Cost> {
    const { result } = await this.#session.send('Profiler.takePreciseCoverage');
    await this.#session.send('Profiler.stopPreciseCoverage');
    const counts = result
      // Scripts without an address are those of the test.
      .filter(({ url }) => url.startsWith('http'))
      .flatMap(({ functions }) => functions.map(({ ranges }) => ranges[0]?.count ?? 0));
    const { traceEvents }: Trace = JSON.parse((await browser.stopTracing()).toString());
    const layouts = traceEvents.flatMap(({ name, args }) =>
      name === 'Layout' ? (args?.beginData ?? []) : [],
    );
    return {
      calls: counts.reduce((sum, count) => sum + count, 0),
      mostLaidOut: Math.max(0, ...layouts.map(({ dirtyObjects = 0 }) => dirtyObjects)),
      boxes: Math.max(0, ...layouts.map(({ totalObjects = 0 }) => totalObjects)),
    };
  }
}
