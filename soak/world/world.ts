/** Starts all that a soak stands on: a private containerd and registry, a small disk, a storage driver, the agent, a control plane. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { buildAgent } from '../../bench/agent.js';
import { type CriClient, connectCri } from '../../src/cri/index.js';
import { certificateUser } from '../../test/env/control-plane-pki.js';
import { TestCsiDriver } from '../../test/env/csi-driver.js';
import {
  buildBusyboxImage,
  type CleanupStack,
  type ControlPlane,
  type CuttableLine,
  createTempDir,
  machineAddress,
  openLine,
  runCommand,
  startContainerd,
  startControlPlane,
  startRegistry,
  type TestContainerd,
  testImages,
} from '../../test/env/index.js';
import { unmountBelow } from '../../test/env/mounts.js';
import type { ShapeGround } from '../plan/shapes.js';
import { agentPorts, nodeName, SoakAgent } from './agent.js';
import { ClusterSource } from './cluster-source.js';
import { DirectorySource, type PodSource } from './pod-source.js';

export interface SoakWorld {
  readonly containerd: TestContainerd;
  readonly cri: CriClient;
  readonly agent: SoakAgent;
  readonly source: PodSource;
  readonly driver: TestCsiDriver;
  readonly line: CuttableLine | undefined;
  readonly shapes: ShapeGround;
}

/** The agent's disk. Its timeline may take 8 MiB. */
const diskSize = '48m';
/** Of the image that is pulled. */
const path = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const csiDriverName = 'soak.csi.example.com';
/** A runtime that is stopped on purpose must not hold up a sample. */
const criTimeoutMs = 8_000;

export async function createWorld(
  { cluster }: { readonly cluster: boolean },
  cleanups: CleanupStack,
  say: (line: string) => void,
): Promise<SoakWorld> {
  const containerd = await startContainerd({ cleanups });
  const registry = await startRegistry({ cleanups });
  const pulledImage = await registry.push(
    await buildBusyboxImage({ name: 'nodelet.test/pulled:1', config: { env: [path] } }, []),
  );
  containerd.useRegistry(registry.host, registry.url);
  const { path: dir } = await createTempDir('soak', { cleanups });
  const rootDir = join(dir, 'root');
  const [startsDir, sharedDir, dataDir] = ['starts', 'shared', 'csi'].map((name) => join(dir, name));
  if (startsDir === undefined || sharedDir === undefined || dataDir === undefined)
    throw new Error('unreachable');
  for (const made of [rootDir, startsDir, sharedDir, dataDir]) mkdirSync(made);
  await runCommand('mount', ['-t', 'tmpfs', '-o', `size=${diskSize}`, 'tmpfs', rootDir]);
  cleanups.defer('the small disk', () => unmountBelow(rootDir));
  const program = await buildAgent(dir, say);
  const joined = cluster ? await joinCluster(cleanups) : undefined;
  const agent = new SoakAgent(
    { program, containerd, dir, rootDir, ...(joined === undefined ? {} : { kubeconfig: joined.kubeconfig }) },
    await agentPorts(),
  );
  cleanups.defer('the agent', () => agent.end('SIGKILL'));
  const driver = new TestCsiDriver({ rootDir, dataDir, name: csiDriverName });
  const cri = connectCri({ endpoint: containerd.endpoint, requestTimeoutMs: criTimeoutMs });
  cleanups.defer('the CRI client', async () => cri.close());
  const source = joined === undefined ? new DirectorySource(agent) : new ClusterSource(joined.plane);
  await source.writeObjects(0);
  await source.prepare(csiDriverName);
  await agent.start();
  await driver.start();
  cleanups.defer('the storage driver', () => driver.stop());
  const shapes = { busybox: testImages.busybox, pulledImage, csiDriver: csiDriverName, startsDir, sharedDir };
  return { containerd, cri, agent, source, driver, line: joined?.line, shapes };
}

interface JoinedCluster {
  readonly plane: ControlPlane;
  readonly line: CuttableLine;
  readonly kubeconfig: string;
}

/** Pods stay on a node that is away: what happens to them is the node's doing. */
const patient = ['--node-monitor-grace-period=300s'];

async function joinCluster(cleanups: CleanupStack): Promise<JoinedCluster> {
  const plane = await startControlPlane({ controllers: true, controllerArgs: patient, cleanups });
  const host = machineAddress();
  const line = await openLine({ cleanups, host, serverPort: Number(new URL(plane.url).port) });
  const subject = { commonName: `system:node:${nodeName}`, organizations: ['system:nodes'] };
  const user = certificateUser(plane.pki.issue({ subject }));
  const kubeconfig = plane.pki.kubeconfig('soak-node', `https://${host}:${line.port}`, user);
  return { plane, line, kubeconfig };
}
