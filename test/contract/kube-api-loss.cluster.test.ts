/** The pods of a node, followed on a real API server that is killed, cut off and restored from an older backup. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock, TaskGroup } from '../../src/async/index.js';
import {
  ApiError,
  connectKubeApi,
  type KubeApi,
  loadKubeconfig,
  resources,
} from '../../src/kube-client/index.js';
import type { Snapshot } from '../../src/pods/index.js';
import { ApiSource } from '../../src/pods/sources/api.js';
import { Timeline } from '../../src/timeline/index.js';
import { type ControlPlane, startControlPlane } from '../env/control-plane.js';
import { CleanupStack, type CuttableLine, machineAddress, openLine } from '../env/index.js';
import { newPod } from './kube-api-contract-pods.js';

const nodeName = 'loss-node';
const cleanups = new CleanupStack();
let plane: ControlPlane;
let admin: KubeApi;
let line: CuttableLine;
let snapshots: Snapshot[];

const names = (): string[] => (snapshots.at(-1)?.pods ?? []).map(({ metadata }) => metadata.name).sort();
const until = (expected: string[]): Promise<void> =>
  expect.poll(names, { timeout: 100_000, interval: 50 }).toEqual([...expected].sort());
const create = async (): Promise<string> => {
  const pod = await admin.create(resources.pods, newPod('default', nodeName));
  return pod.metadata.name!;
};
const remove = (name: string) =>
  admin.delete(resources.pods, { namespace: 'default', name }, { gracePeriodSeconds: 0 });

beforeAll(async () => {
  plane = await startControlPlane({ cleanups });
  admin = (await plane.connect()).client();
  await admin.create(resources.serviceAccounts, { metadata: { name: 'default', namespace: 'default' } });
  const serverPort = Number(new URL(plane.url).port);
  line = await openLine({ cleanups, host: machineAddress(), serverPort });
  const access = await loadKubeconfig(plane.nodeKubeconfig(nodeName));
  const connection = connectKubeApi({
    clock: systemClock,
    userAgent: 'nodelet-test',
    access: {
      ...access,
      endpoint: { ...access.endpoint, server: new URL(`https://${machineAddress()}:${line.port}`) },
    },
  });
  cleanups.defer('connection', async () => connection.close());
  await admin.create(resources.nodes, { metadata: { name: nodeName } });
  snapshots = [];
  const tasks = new TaskGroup({ onError: (task, error) => expect.fail(`${task}: ${String(error)}`) });
  const source = new ApiSource({
    clock: systemClock,
    timeline: new Timeline(),
    api: connection.client({ rate: { qps: 50, burst: 100 } }),
    nodeName,
    nodeSynced: async () => undefined,
    deliver: async (snapshot) => void snapshots.push(snapshot),
  });
  tasks.start('source', (signal) => source.run(signal));
  cleanups.defer('source', () => tasks.stop());
}, 600_000);
afterAll(() => cleanups.run());

describe('the pods of a node', () => {
  it('are followed with the rights of a node', async () => {
    await expect.poll(() => snapshots.length, { timeout: 20_000 }).toBeGreaterThan(0);
    const [a, b] = [await create(), await create()];
    await until([a, b]);
    await remove(a);
    await until([b]);
    await remove(b);
    await until([]);
  });
  it('survive cut connections without a loss', async () => {
    const before = await create();
    await until([before]);
    const delivered = snapshots.length;
    line.reset();
    const after = await create();
    await until([before, after]);
    expect(snapshots.slice(delivered).every(({ pods }) => pods.length >= 1)).toBe(true);
    await remove(before);
    await remove(after);
    await until([]);
  });
  it('survive a killed server, whose memory of changes is new', async () => {
    const before = await create();
    await until([before]);
    const delivered = snapshots.length;
    await plane.server('kube-apiserver').kill();
    await plane.server('kube-apiserver').start();
    const after = await create();
    await until([before, after]);
    expect(snapshots.slice(delivered).some(({ pods }) => pods.length === 0)).toBe(false);
    await remove(before);
    await remove(after);
    await until([]);
  });
  it('follow a server back to an older state, and on from there', async () => {
    const old = await create();
    await until([old]);
    await plane.backup('old');
    const [young, younger] = [await create(), await create()];
    await until([old, young, younger]);
    await plane.restore('old');
    await until([old]);
    const next = await create();
    await until([old, next]);
    await remove(old);
    await remove(next);
    await until([]);
  });
});

describe('identities', () => {
  const codeOf = async (
    kubeconfig: string,
    call: (api: KubeApi) => Promise<unknown>,
  ): Promise<number | undefined> => {
    const api = (await plane.connect(kubeconfig)).client();
    try {
      await call(api);
      return undefined;
    } catch (error) {
      if (error instanceof ApiError) return error.code;
      throw error;
    }
  };
  const getNode = (name: string) => (api: KubeApi) => api.get(resources.nodes, { name });
  it('a node may read itself and no secret that is not its own', async () => {
    const kubeconfig = plane.nodeKubeconfig(nodeName);
    expect(await codeOf(kubeconfig, getNode(nodeName))).toBeUndefined();
    expect(await codeOf(kubeconfig, (api) => api.list(resources.secrets, { namespace: 'kube-system' }))).toBe(
      403,
    );
  });
  it('a certificate that has expired is nobody', async () => {
    const kubeconfig = plane.kubeconfigFor('system:node:expired', ['system:nodes'], -60_000);
    expect(await codeOf(kubeconfig, getNode(nodeName))).toBe(401);
  });
  it('a wrong token is nobody', async () => {
    const kubeconfig = plane.pki.kubeconfig('wrong', plane.url, { token: 'wrong' });
    expect(await codeOf(kubeconfig, getNode(nodeName))).toBe(401);
  });
});
