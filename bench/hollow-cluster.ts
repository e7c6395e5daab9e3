/** Hollow nodes on a real control plane: what nodes and pods cost the process that has them, and the API server beside it. */
import { readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { countStates } from '../src/hollow/index.js';
import { resources } from '../src/kube-client/index.js';
import { type HollowFleet, startHollowFleet } from '../test/cluster/hollow-fleet.js';
import { type ControlPlane, startControlPlane } from '../test/env/control-plane.js';
import { CleanupStack, createTempDir, pollUntil } from '../test/env/index.js';
import { buildAgent } from './agent.js';
import { type Bench, type BenchContext, type Measure, observedMs } from './measure.js';

const restMs = 60_000;
/** Not a target: a machine with other work takes as long as it takes. */
const patienceMs = 1_800_000;
const ticksPerSecond = 100;

export const hollowCluster: Bench = {
  name: 'hollow-cluster',
  summary: 'hollow nodes and pods on a real API server and scheduler: CPU and memory of both sides',
  async run(context) {
    const { quick, nodes = quick === true ? 20 : 500, pods = [quick === true ? 50 : 2000] } = context.options;
    const few = Math.min(nodes, 50);
    const cleanups = new CleanupStack();
    try {
      const { path: dir } = await createTempDir('bench', { cleanups });
      const program = await buildAgent(dir, context.note);
      return [
        ...(await measure(context, { program, nodes, pods: Math.max(...pods), ownWatches: false })),
        // What sharing saves is seen with few nodes as well as with many.
        ...(await measure(context, { program, nodes: few, pods: 0, ownWatches: true })),
        ...(nodes === few ? [] : await measure(context, { program, nodes: few, pods: 0, ownWatches: false })),
      ];
    } finally {
      await cleanups.run();
    }
  },
};

interface FleetLoad {
  readonly program: string;
  readonly nodes: number;
  readonly pods: number;
  readonly ownWatches: boolean;
}

async function measure(
  { note, options }: BenchContext,
  { program, nodes, pods, ownWatches }: FleetLoad,
): Promise<Measure[]> {
  const cleanups = new CleanupStack();
  try {
    const plane = await startControlPlane({ cleanups, controllers: true, scheduler: true });
    const flags = [`--nodes=${nodes}`, '--nodes-per-second=50', ...(ownWatches ? ['--own-watches'] : [])];
    const before = usage(plane, undefined);
    const fleet = await startHollowFleet({ cleanups, plane, flags, program });
    await untilReady(fleet, nodes);
    const label = `${nodes} nodes${ownWatches ? ' with own watches' : ''}`;
    const figures: Measure[] = [];
    const stage = async (
      what: string,
      work: () => Promise<void>,
      from = usage(plane, fleet),
    ): Promise<void> => {
      await work();
      const now = usage(plane, fleet);
      const found = difference(`${label}: ${what}`, from, now);
      figures.push(...found);
      const shown = found.map(
        ({ name, value, unit }) => `${name.slice(label.length + 2)} ${value.toFixed(1)} ${unit}`,
      );
      const { ready } = countStates((await fleet.report()).nodes);
      note(
        `${shown.join(', ')}; ${ready} nodes ready; load of the machine ${(loadavg()[0] ?? 0).toFixed(1)}`,
      );
    };
    await stage('join', async () => {}, before);
    await stage('rest for a minute', () => sleep(observedMs(options, restMs)).then(() => {}));
    // A node does not count the watches that it opens for itself.
    if (!ownWatches) {
      const { watches } = await fleet.report();
      figures.push({ name: `${label}: watches at the server`, unit: 'count', value: watches.opened });
    }
    if (pods > 0) {
      await stage(`${pods} pods get ready`, () => createPods(plane, pods));
      await stage(`rest for a minute with ${pods} pods`, () =>
        sleep(observedMs(options, restMs)).then(() => {}),
      );
    }
    return figures;
  } finally {
    await cleanups.run();
  }
}

async function untilReady(fleet: HollowFleet, nodes: number): Promise<void> {
  await fleet.until('ready', nodes, patienceMs);
}

async function createPods(plane: ControlPlane, replicas: number): Promise<void> {
  const labels = { app: 'load' };
  await plane.apply({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'load', namespace: 'default' },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: [{ name: 'app', image: 'registry.test/app:1' }] },
      },
    },
  });
  await pollUntil(
    `${replicas} pods are ready`,
    async () => {
      const { status } = await plane.admin.get(resources.deployments, { namespace: 'default', name: 'load' });
      return status?.readyReplicas === replicas ? true : undefined;
    },
    { timeoutMs: patienceMs, intervalMs: 2_000 },
  );
}

/** Of each program: CPU since its start, and what it keeps in memory now. */
type Usage = Readonly<Record<string, { readonly cpuSeconds: number; readonly rssMegabytes: number }>>;

function usage(plane: ControlPlane, fleet: HollowFleet | undefined): Usage {
  const pids = {
    'nodelet hollow': fleet?.process.pid,
    'kube-apiserver': plane.server('kube-apiserver').pid,
    etcd: plane.server('etcd').pid,
    'controllers and scheduler': undefined,
  };
  return Object.fromEntries(
    Object.entries(pids).map(([name, pid]) => [
      name,
      pid === undefined ? sumOf(plane, name) : ofProcess(pid),
    ]),
  );
}

/** The two programs that only react to what the others do are one line; a fleet that has not started has used nothing. */
function sumOf(plane: ControlPlane, name: string): Usage[string] {
  if (name === 'nodelet hollow') return { cpuSeconds: 0, rssMegabytes: 0 };
  const each = ['kube-controller-manager', 'kube-scheduler'].flatMap((server) => {
    const { pid } = plane.server(server);
    return pid === undefined ? [] : [ofProcess(pid)];
  });
  return {
    cpuSeconds: each.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0),
    rssMegabytes: each.reduce((sum, { rssMegabytes }) => sum + rssMegabytes, 0),
  };
}

function ofProcess(pid: number): Usage[string] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return {
    cpuSeconds: (Number(fields[11]) + Number(fields[12])) / ticksPerSecond,
    rssMegabytes: Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024,
  };
}

function difference(label: string, before: Usage, now: Usage): Measure[] {
  return Object.entries(now).flatMap(([name, { cpuSeconds, rssMegabytes }]): Measure[] => [
    { name: `${label}: CPU of ${name}`, unit: 's', value: cpuSeconds - (before[name]?.cpuSeconds ?? 0) },
    { name: `${label}: memory of ${name}`, unit: 'MB', value: rssMegabytes },
  ]);
}
