import { linkSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import type { Pod, Volume } from '../../kube/index.js';
import { Registry } from '../../metrics/index.js';
import { Timeline } from '../../timeline/index.js';
import { createVolumeMeasureMetrics, registerVolumeMetrics } from '../metrics.js';
import { linuxMachine } from './machine.js';
import type { FsStats } from './summary-types.js';
import { type VolumeMeasure, volumeMeasures } from './volume-measures.js';
import { type PodToMeasure, VolumeUsages, type VolumeUsagesOptions } from './volume-usage.js';

const time = '2026-01-01T00:00:00Z';
const fs: FsStats = {
  time,
  capacityBytes: 1000,
  availableBytes: 600,
  usedBytes: 400,
  inodes: 100,
  inodesFree: 90,
  inodesUsed: 10,
};

describe('volumeMeasures', () => {
  const below = (plugin: string): string => `/root/pods/u1/volumes/kubernetes.io~${plugin}/v`;
  it.each<[string, Omit<Volume, 'name'>, string | undefined, Partial<VolumeMeasure> | undefined]>([
    ['an emptyDir by its files', { emptyDir: {} }, below('empty-dir'), { by: 'tree', isEphemeral: true }],
    [
      'an emptyDir in memory is not on the disk',
      { emptyDir: { medium: 'Memory' } },
      below('empty-dir'),
      { by: 'tree', isEphemeral: false },
    ],
    ['a ConfigMap is on the disk', { configMap: {} }, below('configmap'), { by: 'tree', isEphemeral: true }],
    ['a Secret is in memory', { secret: {} }, below('secret'), { by: 'tree', isEphemeral: false }],
    [
      'a projected volume is in memory',
      { projected: {} },
      below('projected'),
      { by: 'tree', isEphemeral: false },
    ],
    [
      'a claim by its file system and name',
      { persistentVolumeClaim: { claimName: 'data' } },
      below('nfs'),
      { by: 'fileSystem', isEphemeral: false, pvcRef: { name: 'data', namespace: 'n' } },
    ],
    [
      'an ephemeral claim by its generated name',
      { ephemeral: {} },
      below('local-volume'),
      { by: 'fileSystem', pvcRef: { name: 'a-v', namespace: 'n' } },
    ],
    [
      'a claim of a CSI driver by the driver',
      { persistentVolumeClaim: { claimName: 'data' } },
      `${below('csi')}/mount`,
      { by: 'driver', pvcRef: { name: 'data', namespace: 'n' } },
    ],
    ['not a hostPath', { hostPath: { path: '/srv' } }, '/srv', undefined],
    ['not an unmounted volume', { emptyDir: {} }, undefined, undefined],
    ["not another pod's", { emptyDir: {} }, '/root/pods/u2/volumes/kubernetes.io~empty-dir/v', undefined],
  ])('%s', (_rule, source, directory, expected) => {
    const pod: Pod = {
      metadata: { name: 'a', namespace: 'n', uid: 'u1' },
      spec: { containers: [], volumes: [{ name: 'v', ...source }] },
    };
    const found = volumeMeasures(pod, (name) => (name === 'v' ? directory : undefined));
    if (expected === undefined) expect(found).toEqual([]);
    else expect(found).toEqual([expect.objectContaining({ name: 'v', directory, ...expected })]);
  });
});

it('a block volume is measured by its driver, with its claim', () => {
  const given: Pod = {
    metadata: { name: 'a', namespace: 'n', uid: 'u1' },
    spec: { containers: [], volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }] },
  };
  expect(
    volumeMeasures(
      given,
      () => undefined,
      () => 'd.example.com',
    ),
  ).toEqual([
    {
      name: 'v',
      directory: 'volume v of pod u1',
      by: 'driver',
      driver: 'd.example.com',
      isEphemeral: false,
      pvcRef: { name: 'data', namespace: 'n' },
    },
  ]);
});

function pod(uid: string, volumes: readonly VolumeMeasure[]): PodToMeasure {
  return { uid, name: uid, namespace: 'n', volumes };
}
const scratch: VolumeMeasure = { name: 'scratch', directory: '/s', by: 'tree', isEphemeral: true };
const claim: VolumeMeasure = {
  name: 'data',
  directory: '/d',
  by: 'fileSystem',
  isEphemeral: false,
  pvcRef: { name: 'data', namespace: 'n' },
};

function usages(more: Partial<VolumeUsagesOptions> & Pick<VolumeUsagesOptions, 'pods'>) {
  const clock = new VirtualClock();
  const notes: string[] = [];
  const machine: VolumeUsagesOptions['machine'] = {
    fileSystem: async () => fs,
    tree: async () => ({ usedBytes: 50, inodesUsed: 5 }),
  };
  const timeline = new Timeline({ clock });
  timeline.subscribe(({ message }) => notes.push(message));
  const options = { clock, machine, timeline, periodMs: 60_000, random: () => 0.5, ...more };
  return { clock, notes, volumes: new VolumeUsages(options) };
}

describe('VolumeUsages', () => {
  it('reports all six numbers, and what counts as ephemeral storage', async () => {
    const { volumes } = usages({ pods: () => [pod('a', [scratch, claim]), pod('b', [])] });
    await volumes.measureAll();
    expect(volumes.of('a')).toEqual({
      volumes: [
        { ...fs, name: 'scratch', usedBytes: 50, inodesUsed: 5 },
        { ...fs, name: 'data', pvcRef: { name: 'data', namespace: 'n' } },
      ],
      ephemeral: { usedBytes: 50, inodesUsed: 5 },
    });
    expect(volumes.of('b')).toBeUndefined();
  });

  it('measures once per period, up to twice as late, and drops pods that are gone', async () => {
    let pods = [pod('a', [scratch])];
    const { clock, volumes } = usages({ pods: () => pods });
    const stop = new AbortController();
    const run = volumes.run(stop.signal).catch(() => undefined);
    await clock.advance(89_999);
    expect(volumes.of('a')).toBeUndefined();
    await clock.advance(1);
    expect(volumes.of('a')?.volumes).toHaveLength(1);
    pods = [];
    await clock.advance(90_000);
    expect(volumes.of('a')).toBeUndefined();
    stop.abort();
    await run;
    expect(clock.pendingTimers).toBe(0);
  });

  it('keeps the last figures of a failed volume and measures the others', async () => {
    let fails = false;
    const fileSystem = async (place: string): Promise<FsStats> => {
      if (fails && place === '/s') throw new Error('input/output error');
      return fs;
    };
    const tree = async () => ({ usedBytes: 50, inodesUsed: 5 });
    const { volumes, notes } = usages({
      pods: () => [pod('a', [scratch, claim])],
      machine: { fileSystem, tree },
    });
    await volumes.measureAll();
    fails = true;
    await volumes.measureAll();
    expect(volumes.of('a')?.volumes.map(({ name }) => name)).toEqual(['scratch', 'data']);
    expect(notes).toEqual(['volume scratch could not be measured: input/output error']);
  });

  it('abandons a hung server, and measures it again only after it responds', async () => {
    let asked = 0;
    let answer: (stats: FsStats) => void = () => undefined;
    const fileSystem = (place: string): Promise<FsStats> => {
      if (place !== '/d') return Promise.resolve(fs);
      asked++;
      return new Promise((resolve) => {
        answer = resolve;
      });
    };
    const tree = async () => ({ usedBytes: 50, inodesUsed: 5 });
    const { clock, volumes, notes } = usages({
      pods: () => [pod('a', [claim]), pod('b', [claim]), pod('c', [scratch])],
      machine: { fileSystem, tree },
    });
    const pass = volumes.measureAll();
    await clock.advance(10_000);
    await pass;
    await volumes.measureAll();
    expect([asked, volumes.of('a'), volumes.of('c')?.volumes.length]).toEqual([1, undefined, 1]);
    expect(notes).toEqual(['/d takes longer than 10 s to measure; its last figures stay']);
    answer(fs);
    await clock.advance(0);
    const next = volumes.measureAll();
    await clock.advance(0);
    expect(asked).toBe(2);
    answer(fs);
    await clock.advance(10_000);
    await next;
    expect(volumes.of('a')?.volumes).toHaveLength(1);
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('volumes that drivers measure', () => {
  const ofDriver = (name: string): VolumeMeasure => ({
    name,
    directory: `/${name}`,
    by: 'driver',
    driver: `${name}.example.com`,
    isEphemeral: false,
  });
  const figures = {
    capacityBytes: 1,
    availableBytes: 1,
    usedBytes: 0,
    inodes: 0,
    inodesFree: 0,
    inodesUsed: 0,
  };

  it('do not wait for one whose driver hangs, which is asked again only when it has answered', async () => {
    const asked: string[] = [];
    let answer: () => void = () => undefined;
    const { clock, volumes } = usages({
      pods: () => [pod('a', [ofDriver('hung'), ofDriver('good')]), pod('b', [ofDriver('fine'), scratch])],
      askDriver: async (_, name) => {
        asked.push(name);
        if (name === 'hung') {
          await new Promise<void>((resolve) => {
            answer = resolve;
          });
        }
        return figures;
      },
    });
    const pass = volumes.measureAll();
    await clock.advance(0);
    expect(asked).toEqual(['hung', 'good', 'fine']);
    await clock.advance(10_000);
    await pass;
    expect(volumes.of('a')?.volumes.map(({ name }) => name)).toEqual(['good']);
    expect(volumes.of('b')?.volumes.map(({ name }) => name)).toEqual(['fine', 'scratch']);
    asked.length = 0;
    await volumes.measureAll();
    expect(asked).toEqual(['good', 'fine']);
    answer();
    await clock.advance(0);
    const last = volumes.measureAll();
    await clock.advance(0);
    expect(asked).toContain('hung');
    answer();
    await last;
    expect(clock.pendingTimers).toBe(0);
  });

  it('take ten seconds in all when many hang, and no more than so many are asked at once', async () => {
    let atOnce = 0;
    const { clock, volumes } = usages({
      pods: () => Array.from({ length: 40 }, (_, n) => pod(`p${n}`, [ofDriver(`v${n}`)])),
      askDriver: (_, __, signal) => {
        atOnce++;
        return new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => {
            atOnce--;
            reject(new Error('gone'));
          }),
        );
      },
    });
    let isDone = false;
    const pass = volumes.measureAll().then(() => {
      isDone = true;
    });
    await clock.advance(0);
    expect(atOnce).toBe(16);
    await clock.advance(30_000);
    await pass;
    expect(isDone).toBe(true);
  });

  it('are timed by driver, others by how they are measured', async () => {
    const registry = new Registry();
    const { volumes } = usages({
      pods: () => [pod('a', [ofDriver('x'), ofDriver('broken'), scratch, claim])],
      metrics: createVolumeMeasureMetrics(registry),
      askDriver: async (_, name) => {
        if (name === 'broken') throw new Error('broken');
        return figures;
      },
    });
    await volumes.measureAll();
    const counts = registry
      .text()
      .split('\n')
      .filter((line) => line.includes('_count{'))
      .sort();
    expect(counts).toEqual(
      ['broken.example.com', 'du', 'statfs', 'x.example.com'].map(
        (source) => `kubelet_volume_metric_collection_duration_seconds_count{metric_source="${source}"} 1`,
      ),
    );
  });
});

describe('metrics of claims', () => {
  it('are one set of series for a claim shared by two pods, and none once it is gone', async () => {
    let pods = [pod('a', [claim, scratch]), pod('b', [claim])];
    const { volumes } = usages({ pods: () => pods });
    const registry = new Registry();
    registerVolumeMetrics(registry, () => volumes.claims());
    await volumes.measureAll();
    const lines = registry
      .text()
      .split('\n')
      .filter((line) => !line.startsWith('#') && line !== '');
    const labels = '{namespace="n",persistentvolumeclaim="data"}';
    expect(lines).toEqual([
      `kubelet_volume_stats_available_bytes${labels} 600`,
      `kubelet_volume_stats_capacity_bytes${labels} 1000`,
      `kubelet_volume_stats_inodes${labels} 100`,
      `kubelet_volume_stats_inodes_free${labels} 90`,
      `kubelet_volume_stats_inodes_used${labels} 10`,
      `kubelet_volume_stats_used_bytes${labels} 400`,
    ]);
    pods = [];
    await volumes.measureAll();
    expect(registry.text()).toBe('');
  });
});

describe('a tree on this machine', () => {
  const top = mkdtempSync(path.join(tmpdir(), 'nodelet-tree-'));
  afterAll(() => rmSync(top, { recursive: true }));
  it('is the sum of its blocks, counting each file once and following no links', async () => {
    mkdirSync(path.join(top, 'directory'));
    const file = path.join(top, 'directory', 'file');
    writeFileSync(file, 'x'.repeat(100_000));
    linkSync(file, path.join(top, 'same'));
    symlinkSync('/usr', path.join(top, 'elsewhere'));
    const blocks = ['', 'directory', 'directory/file'].map((name) => statSync(path.join(top, name)).blocks);
    const { tree } = linuxMachine({ clock: new VirtualClock() });
    const { usedBytes, inodesUsed } = await tree(top);
    expect(inodesUsed).toBe(4);
    expect(usedBytes).toBe(512 * blocks.reduce((sum, count) => sum + count, 0));
    await expect(tree(path.join(top, 'nowhere'))).rejects.toThrow('ENOENT');
  });
});
