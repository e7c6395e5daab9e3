/** What probing costs: hundreds of probes a second on a simulated runtime, and an agent whose pods are probed on containerd. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectCri } from '../src/cri/index.js';
import type { Container, Pod, Probe } from '../src/kube/index.js';
import { createKubelet, type Kubelet } from '../src/kubelet/index.js';
import { readManifest } from '../src/pods/sources/static-pod.js';
import { filelessPodConfigs } from '../src/runtime-manager/config/index.js';
import { CleanupStack, createTempDir, freePort, pollUntil } from '../test/env/index.js';
import { Agent, buildAgent, syncsPods } from './agent.js';
import { type BenchGround, onContainerd } from './ground.js';
import { type Bench, type BenchContext, below, type Measure, observedMs } from './measure.js';
import {
  clearManifests,
  idlePod,
  type PodManifest,
  removeAllPods,
  showManifests,
  untilRunning,
} from './pods.js';
import { startSim } from './sim-process.js';

const simPods = 100;
const containersPerPod = 2;
const agentPods = 50;
const settleMs = 8_000;
const measureMs = 15_000;

export const probes: Bench = {
  name: 'probes',
  summary: `${simPods * containersPerPod} containers with an exec and an http probe each second, and ${agentPods} pods with http probes on containerd`,
  async run(context) {
    const simulated = await onSim(context);
    const real = await onContainerd((ground) => onAgent(ground, context));
    return [...simulated, ...real];
  },
};

async function onSim({ note }: BenchContext): Promise<Measure[]> {
  const cleanups = new CleanupStack();
  try {
    const { path: dir } = await createTempDir('bench', { cleanups });
    const port = await startWebServer(cleanups);
    const resting = await measureSim(join(dir, 'resting'), podsOf([]), cleanups);
    note(`${simPods} pods at rest are measured; those with probes follow`);
    const probed = await measureSim(
      join(dir, 'probed'),
      podsOf([
        { livenessProbe: { exec: { command: ['true'] }, periodSeconds: 1 } },
        { readinessProbe: { httpGet: { host: '127.0.0.1', port, path: '/' }, periodSeconds: 1 } },
      ]),
      cleanups,
    );
    const extraMs = probed.cpuMs - resting.cpuMs;
    return [
      {
        name: `CPU of a kubelet with ${simPods * containersPerPod} containers probed twice a second, of one core`,
        unit: '%',
        value: (100 * probed.cpuMs) / probed.elapsedMs,
      },
      {
        name: '… the same containers without probes',
        unit: '%',
        value: (100 * resting.cpuMs) / resting.elapsedMs,
      },
      { name: '… probes in a second', unit: 'count', value: (1000 * probed.probes) / probed.elapsedMs },
      { name: '… CPU of one probe', unit: 'µs', value: (1000 * extraMs) / probed.probes },
    ];
  } finally {
    await cleanups.run();
  }
}

/** Two containers for each pod, with these probes together. */
function podsOf(wanted: readonly Pick<Container, 'livenessProbe' | 'readinessProbe'>[]): Pod[] {
  return Array.from({ length: simPods }, (_, index) => {
    const manifest = idlePod(`p-${index}`);
    const [main] = manifest.spec.containers;
    const containers = Array.from({ length: containersPerPod }, (_unused, number) => ({
      ...main,
      name: `c-${number}`,
      ...Object.assign({}, ...wanted),
    }));
    const { pods } = readManifest(
      JSON.stringify({ ...manifest, spec: { ...manifest.spec, containers } }),
      { kind: 'file', path: `/p-${index}` },
      { nodeName: 'bench', refuseApiReferences: false },
    );
    return pods;
  }).flat();
}

interface Cost {
  readonly cpuMs: number;
  readonly elapsedMs: number;
  readonly probes: number;
}

/** The kubelet is in this process; the runtime and what is probed are not. */
async function measureSim(dir: string, pods: readonly Pod[], cleanups: CleanupStack): Promise<Cost> {
  const sim = await startSim(`${dir}.sock`);
  cleanups.defer('a simulated runtime', sim.stop);
  const cri = connectCri({ endpoint: sim.endpoint, requestTimeoutMs: 120_000 });
  cleanups.defer('the CRI client', async () => cri.close());
  const kubelet = await createKubelet({
    nodeName: 'bench',
    runtime: cri,
    runtimeEndsCalls: true,
    rootDir: join(dir, 'root'),
    podConfigs: filelessPodConfigs,
    podDirectories: false,
    sources: [
      {
        name: 'file',
        create: ({ deliver }) => ({ run: (signal) => deliver({ source: 'file', pods }, signal) }),
      },
    ],
  });
  const failed = kubelet.start();
  try {
    const ready = pollUntil(
      `${pods.length} simulated pods are ready`,
      () => (kubelet.pods().every(isReady) && kubelet.pods().length === pods.length ? true : undefined),
      { timeoutMs: 60_000, intervalMs: 200 },
    );
    await Promise.race([ready, failed.then((error) => Promise.reject(error))]);
    await sleep(settleMs);
    return await costOf(kubelet);
  } finally {
    await kubelet.stop();
  }
}

function isReady({ status }: Pod): boolean {
  return status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false;
}

async function costOf(kubelet: Kubelet): Promise<Cost> {
  const probesBefore = sumOf(kubelet.probeMetricsText());
  const before = process.cpuUsage();
  const startMs = performance.now();
  await sleep(measureMs);
  const { user, system } = process.cpuUsage(before);
  const elapsedMs = performance.now() - startMs;
  return {
    cpuMs: (user + system) / 1000,
    elapsedMs,
    probes: sumOf(kubelet.probeMetricsText()) - probesBefore,
  };
}

/** How many probes the metrics tell of. */
function sumOf(text: string): number {
  return text
    .split('\n')
    .filter((line) => line.startsWith('prober_probe_total{'))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}

/** A server in a process of its own that answers everything; it ends with this process. */
async function startWebServer(cleanups: CleanupStack): Promise<number> {
  const program = `
    const server = require('node:http').createServer((request, response) => response.end('ok'));
    server.listen(0, '127.0.0.1', () => console.log(server.address().port));
    process.stdin.resume().once('end', () => process.exit());`;
  const child = spawn(process.execPath, ['-e', program], { stdio: ['pipe', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  cleanups.defer('the probed server', async () => {
    child.stdin.end();
    await exited;
  });
  const [port] = await once(createInterface({ input: child.stdout }), 'line');
  return Number(port);
}

async function onAgent(
  { cri, containerd, dir }: BenchGround,
  { note, options }: BenchContext,
): Promise<Measure[]> {
  const program = await buildAgent(dir, note);
  const metricsPort = await freePort();
  const agent = new Agent({ program, containerd, dir: join(dir, 'agent'), metricsPort });
  try {
    await agent.line('that it syncs pods', syncsPods);
    showManifests(
      agent.manifestsDir,
      Array.from({ length: agentPods }, (_, index) => webPod(`p-${index}`)),
    );
    await untilRunning(cri, agentPods, () => agent.problems());
    const metricsUrl = `http://127.0.0.1:${metricsPort}/metrics/probes`;
    const countProbes = async (): Promise<number> => sumOf(await (await fetch(metricsUrl)).text());
    await sleep(observedMs(options, settleMs));
    const probedMs = observedMs(options, measureMs);
    note(`${agentPods} pods are probed; ${probedMs / 1000} s are measured`);
    const probesBefore = await countProbes();
    const cpuBeforeMs = agent.cpuMs();
    const startMs = performance.now();
    await sleep(probedMs);
    const elapsedMs = performance.now() - startMs;
    const cpuMs = agent.cpuMs() - cpuBeforeMs;
    const made = (await countProbes()) - probesBefore;
    return [
      {
        name: `CPU of the agent with ${agentPods} pods probed by http each second, of one core`,
        unit: '%',
        value: (100 * cpuMs) / elapsedMs,
        target: below(15),
      },
      { name: '… probes in a second', unit: 'count', value: (1000 * made) / elapsedMs },
    ];
  } finally {
    clearManifests(agent.manifestsDir);
    await agent.stop();
    await removeAllPods(cri);
  }
}

/** A pod that serves its root directory and is asked for it. */
function webPod(name: string): PodManifest {
  const manifest = idlePod(name);
  const readinessProbe: Probe = { httpGet: { path: '/', port: 8080 }, periodSeconds: 1 };
  const command = ['sh', '-c', 'mkdir -p /www; echo ok > /www/index.html; exec httpd -f -p 8080 -h /www'];
  const containers = manifest.spec.containers.map((container) => ({ ...container, command, readinessProbe }));
  return { ...manifest, spec: { ...manifest.spec, containers } };
}
