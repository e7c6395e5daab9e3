/** What the API of a bare node costs its process: writes with and without watchers, watchers themselves, and lists. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { atMost, type BenchContext, type Measure, median, roundsOf } from '../measure.js';
import { ApiClient, UpProcess } from './up-process.js';

const podCounts = { few: 250, many: 1_000 } as const;
const watchers = 100;
const writesPerRound = 200;
const listsPerRound = 10;
const rounds = 5;
const settleMs = 2_000;
const quietMs = 200;
const pods = '/api/v1/namespaces/default/pods';
const maps = '/api/v1/namespaces/default/configmaps';
const applyType = 'application/apply-patch+yaml';

/** One of a Deployment, as large as those usually are; for another node, so that it is an object and nothing else. */
function pod(name: string): object {
  const container = (index: number): object => ({
    name: `c${index}`,
    image: 'registry.example/team/app:v1',
    env: Array.from({ length: 10 }, (_, n) => ({ name: `SETTING_${n}`, value: `value ${n}` })),
    ports: [{ containerPort: 8080 + index, name: `http-${index}` }],
    resources: { requests: { cpu: '10m', memory: '16Mi' }, limits: { memory: '64Mi' } },
    readinessProbe: { httpGet: { path: '/ready', port: 8080 + index } },
  });
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app: 'bench', tier: 'front' } },
    spec: { nodeName: 'elsewhere', containers: [container(0), container(1)] },
  };
}

const map = (value: string): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'settings' },
  data: Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`key-${n}`, `${value} ${n}`])),
});

export async function measureApi(
  dir: string,
  program: string,
  { note, options }: BenchContext,
): Promise<Measure[]> {
  const stateDir = join(dir, 'api');
  mkdirSync(stateDir);
  const up = await UpProcess.start({ program, stateDir, flags: ['--runtime', 'process', '--quiet'] });
  const client = new ApiClient(up.kubeconfig);
  try {
    const turns = roundsOf(options, rounds);
    const writes = options.quick === true ? 20 : writesPerRound;
    const cost = async (count: number, work: (turn: number) => Promise<unknown>): Promise<number> => {
      const before = up.cpuMs;
      for (let turn = 0; turn < count; turn++) await work(turn);
      return (up.cpuMs - before) / count;
    };
    let version = 0;
    const write = (): Promise<unknown> =>
      client.write(
        'PATCH',
        `${pods}/pod-0`,
        { metadata: { labels: { turn: String(version++) } } },
        'application/merge-patch+json',
      );
    const apply = (): Promise<unknown> =>
      client.write(
        'PATCH',
        `${maps}/settings?fieldManager=bench&force=true`,
        map(String(version++)),
        applyType,
      );
    const list = (): Promise<unknown> => client.ask('GET', pods);

    const emptyBytes = up.rssBytes;
    for (let n = 0; n < podCounts.few; n++) await client.write('POST', pods, pod(`pod-${n}`));
    await sleep(settleMs);
    const fewMs: number[] = [];
    await cost(3, list);
    for (let turn = 0; turn < turns; turn++) fewMs.push(await cost(listsPerRound, list));
    const createMs = await cost(podCounts.many - podCounts.few, (turn) =>
      client.write('POST', pods, pod(`pod-${podCounts.few + turn}`)),
    );
    await sleep(settleMs);
    note(`${podCounts.many} pods are stored`);
    const manyMs: number[] = [];
    await cost(3, list);
    for (let turn = 0; turn < turns; turn++) manyMs.push(await cost(listsPerRound, list));
    const manyBytes = up.rssBytes;

    const writeMs: number[] = [];
    const applyMs: number[] = [];
    await cost(writes, write);
    await cost(writes, apply);
    for (let turn = 0; turn < turns; turn++) {
      writeMs.push(await cost(writes, write));
      applyMs.push(await cost(writes, apply));
    }
    await sleep(settleMs);
    const beforeWatchers = up.rssBytes;
    const { metadata } = JSON.parse((await client.ask('GET', `${pods}?limit=1`)).body);
    const open = [];
    for (let n = 0; n < watchers; n++)
      open.push(await client.watch(`${pods}?watch=1&resourceVersion=${metadata.resourceVersion}`));
    await sleep(settleMs);
    const watcherBytes = (up.rssBytes - beforeWatchers) / watchers;
    const watchedMs: number[] = [];
    const readBefore = open.reduce((sum, one) => sum + one.bytes(), 0);
    for (let turn = 0; turn < turns; turn++)
      watchedMs.push(
        await cost(writes, async (index) => {
          await write();
          // The last events count, too.
          if (index === writes - 1) await sleep(quietMs);
        }),
      );
    await sleep(settleMs);
    const eventBytes =
      (open.reduce((sum, one) => sum + one.bytes(), 0) - readBefore) / (watchers * writes * turns);
    for (const one of open) one.stop();
    note(`${watchers} watchers have read ${turns * writes} events each`);

    const perPod = (samples: readonly number[], count: number): number => median(samples) / count;
    const micros = (samples: readonly number[]): number[] => samples.map((ms) => ms * 1000);
    const eventMicros = (1000 * (median(watchedMs) - median(writeMs))) / watchers;
    return [
      {
        name: 'CPU of a write, a label of a pod',
        unit: 'µs',
        value: 1000 * median(writeMs),
        samples: micros(writeMs),
        target: atMost(3_000),
      },
      {
        name: 'CPU of an apply of a ConfigMap',
        unit: 'µs',
        value: 1000 * median(applyMs),
        samples: micros(applyMs),
        target: atMost(3_000),
      },
      {
        name: 'CPU of an event, for each of 100 watchers',
        unit: 'µs',
        value: eventMicros,
        target: atMost(100),
      },
      {
        name: 'memory (RSS) of a watcher, with its connection',
        unit: 'kB',
        value: watcherBytes / 1000,
        target: atMost(150),
      },
      { name: 'an event as sent', unit: 'kB', value: eventBytes / 1000 },
      {
        name: `CPU of a list of ${podCounts.many} pods`,
        unit: 'ms',
        value: median(manyMs),
        samples: manyMs,
        target: atMost(100),
      },
      {
        name: `CPU of a list per pod: ${podCounts.many} pods / ${podCounts.few}`,
        unit: 'ratio',
        value: perPod(manyMs, podCounts.many) / perPod(fewMs, podCounts.few),
        target: atMost(1.3),
        compared: {
          unit: 'µs',
          ours: 1000 * perPod(manyMs, podCounts.many),
          theirs: 1000 * perPod(fewMs, podCounts.few),
        },
      },
      { name: 'CPU of the creation of a pod', unit: 'µs', value: 1000 * createMs },
      { name: 'memory (RSS) without pods', unit: 'MB', value: emptyBytes / 1e6 },
      { name: `memory (RSS) with ${podCounts.many} pods stored`, unit: 'MB', value: manyBytes / 1e6 },
    ];
  } finally {
    client.close();
    await up.end();
  }
}
