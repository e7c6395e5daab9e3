/** The part of the page and the plot that a run writes. */
import { describe, expect, it } from 'vitest';
import { type BurstLoad, burstMeasures, type SideBurst } from './figures.js';
import { burstSection, type MachineFacts, withSection } from './page.js';
import { burstPlot } from './plot.js';

const steps = {
  start: [{ api: 1, queue: 2, volumes: 3, sandbox: 4, create: 5, start: 6, status: 7 }],
  end: [{ api: 1, queue: 2, stop: 3, sandbox: 4, volumes: 5, status: 6 }],
};
const side = (lastMs: number): SideBurst => ({ readyMs: [lastMs / 2, lastMs], goneMs: [10, 20] });
const load: BurstLoad = {
  pods: 100,
  bare: [side(1_000), side(2_000)],
  api: [side(1_100), side(2_600)].map((burst) => ({ ...burst, cpuMs: { start: 9, end: 8 }, steps })),
  files: [],
  reference: [side(4_000), side(4_000)],
};
const machine: MachineFacts = {
  cores: 2,
  cpu: 'a CPU',
  memoryGiB: 15.6,
  kernel: '6.1',
  node: 'v20',
  loadBefore: 0.1,
  loadAfter: 2,
};

describe('the measures', () => {
  const measures = burstMeasures([load]);

  it('compare neighbours', () =>
    expect(measures.find(({ name }) => name.includes('all ready, nodelet / bare'))).toMatchObject({
      value: expect.closeTo(1.2),
      samples: [1.1, 1.3],
      target: { kind: 'atMost', limit: 1.1 },
    }));

  it('leave out sides that did not run', () =>
    expect(measures.filter(({ name }) => name.includes('files'))).toEqual([]));

  it('have a target against the reference at 100 pods only', () => {
    const targets = (pods: number): number =>
      burstMeasures([{ ...load, pods }]).filter(
        ({ name, target }) => name.includes('reference') && target !== undefined,
      ).length;
    expect([targets(100), targets(50)]).toEqual([4, 0]);
  });
});

describe('the part of the page', () => {
  const section = burstSection([load], machine);

  it('has tables of aligned columns', () => {
    const tables = section
      .split('\n\n')
      .map((part) => part.trim())
      .filter((part) => part.startsWith('| '));
    expect(tables).toHaveLength(4);
    for (const table of tables) expect(new Set(table.split('\n').map(({ length }) => length)).size).toBe(1);
  });

  it('names the machine', () =>
    expect(section).toContain('2 cores (a CPU), 16 GiB, Linux 6.1, Node v20; load 0.1 before'));

  it('takes the place of the one before it, and the rest stays', () => {
    const page = withSection('# Performance\n\nAn introduction.\n', 'old');
    const rewritten = withSection(`${page}\n## Another part\n`, 'new');
    expect(rewritten).toContain('An introduction.');
    expect(rewritten).toContain('## Another part');
    expect(rewritten).toContain('\n\nnew\n');
    expect(rewritten).not.toContain('old');
  });
});

it('the plot has a line a side, and names are no markup', () => {
  const lines = [
    { name: 'a < b', colour: '#000000', atMs: [3, 1] },
    { name: 'c', colour: '#111111', atMs: [2] },
  ];
  const plot = burstPlot([{ title: 'ready', lines }]);
  expect(plot.match(/<polyline/g)).toHaveLength(2);
  expect(plot).toContain('a &lt; b');
});
