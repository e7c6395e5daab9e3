import { describe, expect, it } from 'vitest';
import { met } from '../measure.js';
import { formatTable } from '../table.js';
import { clusterMeasures, type Round } from './figures.js';

function round(factor: number, pods: number): Round {
  const times = Array.from({ length: pods }, (_, index) => (factor * (index + 1)) / pods);
  const burst = {
    readySeconds: times,
    goneSeconds: times.map((seconds) => seconds / 2),
    cpuToStartSeconds: factor / 10,
    cpuToDeleteSeconds: factor / 20,
  };
  return {
    bursts: [burst],
    rest: { cpuPercent: factor, rssMegabytes: 100 * factor },
    scrapes: { cpuMilliseconds: 20 * factor, kilobytes: 1000 },
    requestsPerPod: { start: 7, delete: 3 },
  };
}

const named = (measures: ReturnType<typeof clusterMeasures>, name: string) => {
  const found = measures.find((measure) => measure.name === name);
  if (found === undefined) throw new Error(`no measure ${name}`);
  return found;
};

describe('the figures of the cluster bench', () => {
  it('are ratios of neighbouring rounds where the reference ran', () => {
    const measures = clusterMeasures([
      {
        pods: 100,
        nodelet: [round(4, 100), round(6, 100)],
        reference: [round(10, 100), round(10, 100)],
      },
    ]);
    expect(named(measures, '100 pods: all ready')).toMatchObject({
      value: 0.5,
      unit: 'ratio',
      samples: [0.4, 0.6],
      target: { kind: 'atMost', limit: 0.7 },
      compared: { unit: 's', ours: 5, theirs: 10 },
    });
  });

  it.each([
    ['1 pod: created → ready, p50', 0.7],
    ['1 pod: deleted → gone, p50', 0.5],
    ['100 pods: created → ready, p50', 0.4],
    ['100 pods: all ready', 0.7],
    ['100 pods: deleted → gone, p50', 0.5],
    ['100 pods: CPU to start', 1],
    ['100 pods: CPU at rest', 0.5],
    ['100 pods: memory (RSS) at rest', 1],
    ['100 pods: CPU of a scrape', 0.5],
  ])('%s has the target %f', (name, limit) => {
    const loads = [1, 100].map((pods) => ({
      pods,
      nodelet: [round(1, pods)],
      reference: [round(2, pods)],
    }));
    expect(named(clusterMeasures(loads), name).target).toEqual({ kind: 'atMost', limit });
  });

  it('are plain and without a target when nodelet ran alone', () => {
    const measures = clusterMeasures([{ pods: 20, nodelet: [round(2, 20)], reference: [] }]);
    expect(named(measures, '20 pods: all ready')).toMatchObject({ value: 2, unit: 's' });
    expect(measures.map(met)).toEqual(measures.map(() => undefined));
  });

  it('of a single pod leave out what only a burst has', () => {
    const measures = clusterMeasures([{ pods: 1, nodelet: [round(2, 1)], reference: [] }]);
    expect(measures.map(({ name }) => name)).not.toContain('1 pod: all ready');
  });

  it('show both sides in the table', () => {
    const measures = clusterMeasures([{ pods: 100, nodelet: [round(8, 100)], reference: [round(10, 100)] }]);
    const line = formatTable(measures)
      .split('\n')
      .find((text) => text.includes('all ready'));
    expect(line).toMatch(/0\.80 ×\s+≤ 0\.70 ×\s+NO\s+8\.00 s \/ 10\.0 s/);
  });
});
