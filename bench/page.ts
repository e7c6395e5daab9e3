/** The page of a node in a real Chromium: its frames while pods change all the time, against the same page while nothing changes. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { openBrowser, openPage } from '../test/page/browser.js';
import { FakeNode } from '../test/page/fake-node.js';
import { type BrowserWork, type Frames, recordFrames, WorkCounter } from '../test/page/frames.js';
import { servePage } from '../test/page/served-page.js';
import {
  atMost,
  type Bench,
  type BenchContext,
  type Measure,
  median,
  medianOf,
  observedMs,
  percentile,
  roundsOf,
} from './measure.js';

const few = 25;
const many = 250;
const tickMs = 100;
const ratedRounds = 5;
const roundMs = 5_000;
/** What each pod has lived through before. */
const restartsEach = 40;
/** Two frames of a screen of 60 Hz: more is seen as a stutter. */
const slowFrameMs = 33.4;

interface Load {
  readonly name: string;
  readonly changesPerTick: number;
}

const loads: readonly Load[] = [
  { name: 'nothing changes', changesPerTick: 0 },
  { name: '1 pod each 100 ms', changesPerTick: 1 },
  { name: '25 pods each 100 ms', changesPerTick: 25 },
];

export const page: Bench = {
  name: 'page',
  summary: `the table of ${many} pods in a browser, still and changing, and the work of a change among ${few}`,
  async run(context) {
    const dir = mkdtempSync(path.join(tmpdir(), 'nodelet-page-'));
    const node = new FakeNode(path.join(dir, 's'));
    try {
      await node.start();
      return await measure(node, context);
    } finally {
      await node.stop();
      rmSync(dir, { recursive: true, force: true });
    }
  },
};

interface Round {
  readonly frames: Frames;
  readonly work: BrowserWork;
}

async function measure(node: FakeNode, { options, note }: BenchContext): Promise<Measure[]> {
  const server = await servePage(() => node.socketPath);
  const browser = await openBrowser();
  try {
    const open = async (count: number): Promise<Looked> => {
      const names = Array.from({ length: count }, (_, at) => `pod-${String(at).padStart(3, '0')}`);
      // The timeline begins anew: no pod has more entries than the others.
      await node.stop();
      node.setPods(...names);
      await node.start();
      for (const name of names) node.addRestarts(name, restartsEach);
      const { page: shown } = await openPage(browser, server.newAddress());
      await shown.getByText(`${count} pods`).waitFor({ timeout: 60_000 });
      // Until what came with the page is drawn.
      await shown.waitForTimeout(observedMs(options, 3_000));
      return { names, shown, work: await WorkCounter.of(shown) };
    };
    const observe = async (looked: Looked, load: Load): Promise<Round> => {
      const stop = changeAtEachTick(node, looked.names, load.changesPerTick);
      try {
        await looked.work.begin();
        const frames = await recordFrames(looked.shown, observedMs(options, roundMs));
        return { frames, work: await looked.work.end() };
      } finally {
        stop();
      }
    };
    const rounds = new Map<Load, Round[]>(loads.map((load) => [load, []]));
    const large = await open(many);
    for (let round = 0; round < roundsOf(options, ratedRounds); round++) {
      for (const load of loads) rounds.get(load)?.push(await observe(large, load));
      note(`round ${round + 1}`);
    }
    await large.shown.context().close();
    const small = await open(few);
    const ofFew: Round[] = [];
    for (let round = 0; round < roundsOf(options, ratedRounds); round++)
      ofFew.push(await observe(small, { name: '', changesPerTick: 1 }));
    return measures(rounds, ofFew);
  } finally {
    await browser.close();
    await server.close();
  }
}

interface Looked {
  readonly names: readonly string[];
  readonly shown: Page;
  readonly work: WorkCounter;
}

/** Returns how to stop that. */
function changeAtEachTick(node: FakeNode, names: readonly string[], changesPerTick: number): () => void {
  let at = 0;
  const timer = setInterval(() => {
    for (let change = 0; change < changesPerTick; change++, at++) {
      // Each round through all pods turns them over.
      const isOdd = Math.floor(at / names.length) % 2 === 1;
      node.change(names[at % names.length] ?? '', isOdd ? 1 : 3);
    }
  }, tickMs);
  return () => clearInterval(timer);
}

function measures(rounds: ReadonlyMap<Load, readonly Round[]>, ofFew: readonly Round[]): Measure[] {
  const found: Measure[] = [];
  const medians = new Map<Load, number>();
  for (const [load, observed] of rounds) {
    const intervals = observed.flatMap(({ frames }) => frames.intervalsMs);
    medians.set(load, median(intervals));
    found.push(
      { name: `frame, median: ${load.name}`, unit: 'ms', value: median(intervals) },
      { name: `frame, p99: ${load.name}`, unit: 'ms', value: percentile(intervals, 99) },
      medianOf(
        `frames of more than 33 ms: ${load.name}`,
        '%',
        observed.map(({ frames }) => slowPart(frames)),
      ),
      medianOf(
        `tasks of more than 50 ms in ${roundMs / 1000} s: ${load.name}`,
        'count',
        observed.map(({ frames }) => frames.longTasksMs.length),
      ),
      medianOf(
        `CPU of the page's thread, of one core: ${load.name}`,
        '%',
        observed.map(({ frames, work }) => (work.taskMs / lengthMs(frames)) * 100),
      ),
    );
  }
  const [still, one, burst] = loads.map((load) => ({ load, medianMs: medians.get(load) ?? Number.NaN }));
  for (const changing of [one, burst]) {
    if (still === undefined || changing === undefined) continue;
    found.push({
      name: `frame, median: ${changing.load.name} / ${still.load.name}`,
      unit: 'ratio',
      value: changing.medianMs / still.medianMs,
      target: atMost(1.1),
    });
  }
  const drawMs = ({ scriptMs, layoutMs, styleMs }: BrowserWork): number => scriptMs + layoutMs + styleMs;
  const ofMany = one === undefined ? [] : (rounds.get(one.load) ?? []);
  found.push({
    name: `CPU of script, style and layout of a change: ${many} pods / ${few}`,
    unit: 'ratio',
    value: median(ofMany.map(({ work }) => drawMs(work))) / median(ofFew.map(({ work }) => drawMs(work))),
    target: atMost(2),
  });
  return found;
}

function lengthMs({ intervalsMs }: Frames): number {
  return intervalsMs.reduce((sum, ms) => sum + ms, 0);
}

function slowPart({ intervalsMs }: Frames): number {
  return (intervalsMs.filter((ms) => ms > slowFrameMs).length / intervalsMs.length) * 100;
}
