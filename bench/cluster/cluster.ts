/** Pods through the API of a real control plane: how soon they run and are gone, and what that costs the node's agent. */
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type KubeApi, resources } from '../../src/kube-client/index.js';
import { startControlPlane } from '../../test/env/control-plane.js';
import { CleanupStack, createTempDir } from '../../test/env/index.js';
import { buildAgent } from '../agent.js';
import { type Bench, type BenchContext, type BenchOptions, type Measure, median } from '../measure.js';
import { AuditLog } from './audit.js';
import { clusterMeasures, type LoadRounds, type Round } from './figures.js';
import { type ClusterGround, type Load, namespace, type Side, visit } from './visit.js';

interface Form {
  readonly loads: readonly Load[];
  readonly rounds: number;
}

export const cluster: Bench = {
  name: 'cluster',
  summary: 'pods created through the API at once; with --kubelet PATH against the reference kubelet',
  run: (context) =>
    onControlPlane(context, (ground, sides) => measure(ground, sides, formOf(context.options))),
};

/** Without the reference there is nothing to compare with, and a short look will do. */
function formOf({ kubelet, pods, rounds }: BenchOptions): Form {
  const isFull = kubelet !== undefined;
  const times = isFull
    ? { settleMs: 10_000, restMs: 20_000, scrapes: 20 }
    : { settleMs: 2_000, restMs: 5_000, scrapes: 5 };
  const single = isFull ? 6 : 3;
  const loads = (pods ?? (isFull ? [1, 50, 100] : [1, 20])).map((count) => ({
    ...times,
    pods: count,
    bursts: count === 1 ? single : 1,
  }));
  return { loads, rounds: rounds ?? (isFull ? 3 : 1) };
}

async function onControlPlane<T>(
  { note, options }: BenchContext,
  work: (ground: ClusterGround, sides: readonly Side[]) => Promise<T>,
): Promise<T> {
  const cleanups = new CleanupStack();
  try {
    const { path: dir } = await createTempDir('bench', { cleanups });
    const program = launcher(dir, await buildAgent(dir, note));
    const audit = new AuditLog(dir);
    const plane = await startControlPlane({ cleanups, apiServerArgs: audit.apiServerArgs });
    const api = (await plane.connect()).client();
    await makeNamespace(api, plane.pki.authorityPem);
    const { kubelet } = options;
    const nodelet: Side = { name: 'nodelet', program };
    const sides: Side[] =
      kubelet === undefined ? [nodelet] : [nodelet, { name: 'reference', program: kubelet }];
    return await work({ plane, api, audit, note }, sides);
  } finally {
    await cleanups.run();
  }
}

/** With what controllers would give it, so that its pods have the token of an account mounted as nearly all pods do. */
async function makeNamespace(api: KubeApi, authorityPem: string): Promise<void> {
  await api.create(resources.namespaces, { metadata: { name: namespace } });
  await api.create(resources.serviceAccounts, { metadata: { name: 'default', namespace } });
  await api.create(resources.configMaps, {
    metadata: { name: 'kube-root-ca.crt', namespace },
    data: { 'ca.crt': authorityPem },
  });
}

/** Both sides are a program that takes the flags of a kubelet. */
function launcher(dir: string, nodelet: string): string {
  const path = join(dir, 'nodelet-agent');
  writeFileSync(path, `#!/bin/sh\nexec '${nodelet}' agent "$@"\n`);
  chmodSync(path, 0o755);
  return path;
}

async function measure(ground: ClusterGround, sides: readonly Side[], form: Form): Promise<Measure[]> {
  const done: LoadRounds[] = [];
  for (const load of form.loads) done.push(await measureLoad(ground, sides, load, form.rounds));
  return clusterMeasures(done);
}

async function measureLoad(
  ground: ClusterGround,
  sides: readonly Side[],
  load: Load,
  rounds: number,
): Promise<LoadRounds> {
  const found = { nodelet: [] as Round[], reference: [] as Round[] };
  for (let round = 0; round < rounds; round++) {
    // Whoever comes second may find warmer caches or a more tired machine, so each side is second about as often.
    for (const side of round % 2 === 0 ? sides : [...sides].reverse()) {
      const figures = await visit(ground, side, load, `${side.name}-${load.pods}-${round}`);
      found[side.name].push(figures);
      ground.note(`round ${round + 1}, ${side.name}, ${load.pods} at once: ${formatRound(figures)}`);
    }
  }
  return { pods: load.pods, ...found };
}

function formatRound({ bursts, rest, scrapes }: Round): string {
  const seconds = (of: (burst: (typeof bursts)[number]) => number): string =>
    `${median(bursts.map(of)).toFixed(2)} s`;
  return [
    `all ready ${seconds(({ readySeconds }) => Math.max(...readySeconds))}`,
    `all gone ${seconds(({ goneSeconds }) => Math.max(...goneSeconds))}`,
    `CPU to start ${seconds(({ cpuToStartSeconds }) => cpuToStartSeconds)}`,
    `at rest ${rest.cpuPercent.toFixed(1)} %, ${rest.rssMegabytes.toFixed(0)} MB`,
    `a scrape ${scrapes.cpuMilliseconds.toFixed(0)} ms, ${scrapes.kilobytes.toFixed(0)} kB`,
  ].join(', ');
}
