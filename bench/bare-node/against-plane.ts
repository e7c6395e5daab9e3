/** Pods applied at once by kubectl: on a bare node, and on a whole control plane with an agent, on the same machine by turns. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type KubeApi, resources } from '../../src/kube-client/index.js';
import { startClusterNode } from '../../test/env/cluster-node.js';
import { runCommand } from '../../test/env/command.js';
import { type ControlPlane, startControlPlane } from '../../test/env/control-plane.js';
import { controlPlaneProgram } from '../../test/env/control-plane-binaries.js';
import { CleanupStack, pollUntil, startContainerd, testImages } from '../../test/env/index.js';
import { makeCgroup, processRssBytes, processTreeCpuMs } from '../agent.js';
import { PodWatch } from '../cluster/pod-moments.js';
import { atMost, type BenchContext, below, type Measure, median, observedMs, roundsOf } from '../measure.js';
import { UpProcess } from './up-process.js';

const rounds = 3;
const settleMs = 10_000;
const namespace = 'default';
const planeServers = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'] as const;

interface Visit {
  readonly readySeconds: readonly number[];
  readonly cpuSeconds: number;
  /** Resident memory of each process, at rest with all pods. */
  readonly megabytes: Readonly<Record<string, number>>;
}

/** What is told apart: the API to watch, the processes that count, and how kubectl finds the API. */
interface Side {
  readonly api: KubeApi;
  readonly kubeconfig: string;
  readonly pids: Readonly<Record<string, number>>;
  readonly problems: () => string;
}

export async function measureAgainstPlane(
  dir: string,
  program: string,
  { note, options }: BenchContext,
): Promise<Measure[]> {
  const count = options.pods?.[0] ?? (options.quick === true ? 20 : 100);
  const cleanups = new CleanupStack();
  try {
    const plane = await startControlPlane({ cleanups, controllers: true, scheduler: true });
    const bare: Visit[] = [];
    const whole: Visit[] = [];
    for (let round = 0; round < roundsOf(options, options.rounds ?? rounds); round++) {
      const place = join(dir, `round-${round}`);
      mkdirSync(place);
      const restMs = observedMs(options, settleMs);
      const sides = [
        async () => bare.push(await onBareNode(place, program, (side) => visit(place, side, count, restMs))),
        async () =>
          whole.push(await onPlane(plane, program, place, (side) => visit(place, side, count, restMs))),
      ];
      // Whoever comes second may find warmer caches or a more tired machine.
      for (const side of round % 2 === 0 ? sides : sides.reverse()) await side();
      note(`round ${round + 1}: bare node ${shown(bare.at(-1))}; control plane ${shown(whole.at(-1))}`);
    }
    return measuresOf(count, bare, whole);
  } finally {
    await cleanups.run();
  }
}

function shown(visit: Visit | undefined): string {
  if (visit === undefined) return 'nothing';
  const memory = Object.entries(visit.megabytes).map(([name, value]) => `${name} ${value.toFixed(0)} MB`);
  return `all ready in ${Math.max(...visit.readySeconds).toFixed(1)} s, CPU ${visit.cpuSeconds.toFixed(1)} s, ${memory.join(', ')}`;
}

async function visit(
  place: string,
  { api, kubeconfig, pids, problems }: Side,
  count: number,
  restMs: number,
): Promise<Visit> {
  const names = Array.from({ length: count }, (_, index) => `pod-${index}`);
  const file = join(place, 'pods.json');
  writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: names.map(idlePod) }));
  const kubectl = await controlPlaneProgram('kubectl');
  const watch = new PodWatch(api, namespace);
  const cpuMs = (): number => Object.values(pids).reduce((sum, pid) => sum + processTreeCpuMs(pid), 0);
  try {
    await watch.synced();
    const cpuBefore = cpuMs();
    const startMs = performance.now();
    await runCommand(kubectl, ['apply', '-f', file], {
      env: { KUBECONFIG: kubeconfig, HOME: place },
      timeoutMs: 300_000,
    });
    const ready = await watch.allReady(names, problems);
    const cpuSeconds = (cpuMs() - cpuBefore) / 1000;
    await sleep(restMs);
    const megabytes = Object.entries(pids).map(([name, pid]): [string, number] => [
      name,
      processRssBytes(pid) / 1e6,
    ]);
    await Promise.all(names.map((name) => api.delete(resources.pods, { namespace, name })));
    await watch.allGone(names, problems);
    return {
      readySeconds: ready.map((ms) => (ms - startMs) / 1000),
      cpuSeconds,
      megabytes: Object.fromEntries(megabytes),
    };
  } finally {
    await watch.stop();
  }
}

/** One container that ends as soon as it is told to. */
function idlePod(name: string): object {
  const container = { name: 'main', image: testImages.pause, imagePullPolicy: 'IfNotPresent' };
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: { containers: [container] } };
}

async function onBareNode<T>(place: string, program: string, work: (side: Side) => Promise<T>): Promise<T> {
  const cleanups = new CleanupStack();
  try {
    const containerd = await startContainerd({ cleanups });
    makeCgroup(containerd.cgroupParent);
    const stateDir = join(place, 'bare');
    mkdirSync(stateDir);
    const up = await UpProcess.start({
      program,
      stateDir,
      flags: ['--container-runtime-endpoint', containerd.endpoint, '--quiet'],
      agentFlags: [
        '--cgroup-driver=cgroupfs',
        `--cgroup-root=${containerd.cgroupParent}`,
        '--make-iptables-util-chains=false',
        // Machines of benches are full or not; pods must not depend on it.
        '--eviction-hard=memory.available<0%,nodefs.available<0%,nodefs.inodesFree<0%,imagefs.available<0%,imagefs.inodesFree<0%',
      ],
    });
    cleanups.defer('nodelet up', () => up.end());
    const api = (await up.connect()).client();
    await accountIsThere(api);
    return await work({
      api,
      kubeconfig: up.kubeconfig,
      pids: { 'nodelet up': up.pid },
      problems: () => up.log,
    });
  } finally {
    await cleanups.run();
  }
}

async function onPlane<T>(
  plane: ControlPlane,
  program: string,
  place: string,
  work: (side: Side) => Promise<T>,
): Promise<T> {
  const cleanups = new CleanupStack();
  const name = 'whole';
  try {
    const launcher = join(place, 'agent');
    writeFileSync(launcher, `#!/bin/sh\nexec '${program}' agent "$@"\n`, { mode: 0o755 });
    const config = { syncFrequency: '1m0s', fileCheckFrequency: '20s' };
    const node = await startClusterNode({
      cleanups,
      plane,
      name,
      kubelet: launcher,
      flags: ['--v=0'],
      config,
    });
    await node.ready(120_000);
    const servers = planeServers.map((server): [string, number] => [server, plane.server(server).pid ?? 0]);
    const pids = { agent: node.pid ?? 0, ...Object.fromEntries(servers) };
    const api = (await plane.connect()).client();
    return await work({
      api,
      kubeconfig: plane.adminKubeconfig,
      pids,
      problems: () => node.log.slice(-4_000),
    });
  } finally {
    await cleanups.run();
    await plane.admin.delete(resources.nodes, { name });
  }
}

async function accountIsThere(api: KubeApi): Promise<void> {
  const found = (): Promise<true | undefined> =>
    api.get(resources.configMaps, { namespace, name: 'kube-root-ca.crt' }).then(
      () => true,
      () => undefined,
    );
  await pollUntil('the namespace has what its pods get', found, { timeoutMs: 30_000 });
}

function measuresOf(count: number, bare: readonly Visit[], whole: readonly Visit[]): Measure[] {
  const ratio = (
    name: string,
    of: (visit: Visit) => number,
    unit: 's' | 'MB',
    target: Measure['target'],
  ): Measure => {
    const compared = { unit, ours: median(bare.map(of)), theirs: median(whole.map(of)) };
    return {
      name,
      unit: 'ratio',
      value: compared.ours / compared.theirs,
      compared,
      ...(target === undefined ? {} : { target }),
    };
  };
  const of = (visit: Visit, ...names: readonly string[]): number =>
    Object.entries(visit.megabytes).reduce(
      (sum, [name, value]) => (names.includes(name) ? sum + value : sum),
      0,
    );
  const own = bare.map((visit) => of(visit, 'nodelet up'));
  const server = whole.map((visit) => of(visit, 'kube-apiserver'));
  const all = (visit: Visit): number => of(visit, 'nodelet up', 'agent', ...planeServers);
  return [
    ratio(
      `${count} pods, all ready: bare node / control plane`,
      ({ readySeconds }) => Math.max(...readySeconds),
      's',
      atMost(1),
    ),
    ratio(`${count} pods, median ready`, ({ readySeconds }) => median(readySeconds), 's', atMost(1)),
    ratio('CPU until all are ready, all processes', ({ cpuSeconds }) => cpuSeconds, 's', atMost(1)),
    {
      name: `memory (RSS) of nodelet up with ${count} pods`,
      unit: 'MB',
      value: median(own),
      samples: own,
      target: below(150),
    },
    { name: 'memory (RSS) of kube-apiserver alone', unit: 'MB', value: median(server), samples: server },
    {
      name: 'memory: nodelet up / kube-apiserver alone',
      unit: 'ratio',
      value: median(own) / median(server),
      target: below(1),
      compared: { unit: 'MB', ours: median(own), theirs: median(server) },
    },
    ratio('memory: nodelet up / control plane with agent', all, 'MB', undefined),
  ];
}
