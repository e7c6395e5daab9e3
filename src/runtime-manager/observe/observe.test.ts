import { describe, expect, it } from 'vitest';
import {
  ContainerState,
  ContainerStatusResponse,
  CriError,
  type CriRuntime,
  criAnnotations,
  criLabels,
  type Init,
  type ListContainersRequest,
  ListContainersResponse,
  type ListPodSandboxRequest,
  ListPodSandboxResponse,
  type ObservedPod,
  PodSandboxState,
  PodSandboxStatusResponse,
} from '../../cri/index.js';
import { RuntimeManager } from '../manager.js';
import { bench } from '../test-fixtures.js';

const metadata = { name: 'web', namespace: 'shop', uid: 'uid-1' };
const labels = { [criLabels.podUid]: 'uid-1', [criLabels.podName]: 'web', [criLabels.podNamespace]: 'shop' };

interface Shown {
  sandboxes?: { id: string; attempt: number; ready?: boolean; ip?: string; more?: string[] }[];
  containers?: {
    id: string;
    sandbox: string;
    createdAt: bigint;
    restarts?: number;
    state?: ContainerState;
    message?: string;
    exit?: [number, string];
  }[];
}

/** A runtime with exactly these sandboxes and containers. */
function showing({ sandboxes = [], containers = [] }: Shown, overrides: Partial<CriRuntime> = {}) {
  const asked: { sandboxes?: Init<ListPodSandboxRequest>; containers?: Init<ListContainersRequest> } = {};
  const stateOf = (ready = true) =>
    ready ? PodSandboxState.SANDBOX_READY : PodSandboxState.SANDBOX_NOTREADY;
  const table = bench({
    overrides: {
      listPodSandbox: async (request) => {
        asked.sandboxes = request;
        return ListPodSandboxResponse.create({
          items: sandboxes.map(({ id, attempt, ready }) => ({
            id,
            metadata: { ...metadata, attempt },
            state: stateOf(ready),
          })),
        });
      },
      listContainers: async (request) => {
        asked.containers = request;
        return ListContainersResponse.create({
          containers: containers.map(({ id, sandbox, createdAt, state }) => ({
            id,
            podSandboxId: sandbox,
            createdAt,
            state: state ?? ContainerState.CONTAINER_RUNNING,
            labels: { ...labels, [criLabels.containerName]: 'app' },
          })),
        });
      },
      podSandboxStatus: async ({ podSandboxId }) => {
        const found = sandboxes.find(({ id }) => id === podSandboxId);
        return PodSandboxStatusResponse.create({
          status: {
            id: podSandboxId,
            metadata: { ...metadata, attempt: found?.attempt },
            state: stateOf(found?.ready),
            createdAt: 1n,
            network: { ip: found?.ip ?? '', additionalIps: (found?.more ?? []).map((ip) => ({ ip })) },
          },
        });
      },
      containerStatus: async ({ containerId }) => {
        const found = containers.find(({ id }) => id === containerId);
        return ContainerStatusResponse.create({
          status: {
            id: containerId,
            metadata: { name: 'app' },
            createdAt: found?.createdAt,
            state: found?.state ?? ContainerState.CONTAINER_RUNNING,
            image: { image: 'example/app:1' },
            imageRef: 'sha256:1',
            message: found?.message,
            exitCode: found?.exit?.[0],
            reason: found?.exit?.[1],
            labels: { ...labels, [criLabels.containerName]: 'app' },
            annotations: { [criAnnotations.restartCount]: String(found?.restarts ?? 0) },
          },
        });
      },
      ...overrides,
    },
    options: {
      terminationMessage: async ({ id }) => (id === 'silent' ? '' : 'bye'),
      wasOomKilled: async (id) => id === 'killed',
    },
  });
  return { asked, manager: new RuntimeManager(table.options) };
}

const EXITED = ContainerState.CONTAINER_EXITED;

describe('listing', () => {
  it('running only filters by running and ready', async () => {
    const { asked, manager } = showing({});
    await manager.listPods({ runningOnly: true });
    expect(asked.containers?.filter?.state).toEqual({ state: ContainerState.CONTAINER_RUNNING });
    expect(asked.sandboxes?.filter?.state).toEqual({ state: PodSandboxState.SANDBOX_READY });
  });
  it('all uses no filter', async () => {
    const { asked, manager } = showing({ containers: [{ id: 'a', sandbox: 'gone', createdAt: 1n }] });
    expect(await manager.listPods()).toMatchObject([{ uid: 'uid-1', name: 'web', sandboxes: [] }]);
    expect(asked).toEqual({ sandboxes: {}, containers: {} });
  });
  it('one pod is filtered by its label', async () => {
    const { asked, manager } = showing({});
    expect(await manager.listPod('uid-1')).toBeUndefined();
    expect(asked.sandboxes?.filter?.labelSelector).toEqual({ 'io.kubernetes.pod.uid': 'uid-1' });
    expect(asked.containers?.filter?.labelSelector).toEqual({ 'io.kubernetes.pod.uid': 'uid-1' });
  });
});

describe('podStatus', () => {
  const read = ({ manager }: ReturnType<typeof showing>) => manager.podStatus('uid-1', 'web', 'shop');

  it('orders instances, finds the active ones and reads the addresses of the newest sandbox', async () => {
    const status = await read(
      showing({
        sandboxes: [
          { id: 'old', attempt: 0, ready: false, ip: '10.0.0.1' },
          { id: 'new', attempt: 1, ip: '10.0.0.2', more: ['fd00::2'] },
        ],
        containers: [
          { id: 'first', sandbox: 'old', createdAt: 1n, state: EXITED },
          { id: 'second', sandbox: 'new', createdAt: 2n },
        ],
      }),
    );
    expect(status.sandboxes.map(({ id }) => id)).toEqual(['new', 'old']);
    expect(status.containers.map(({ id }) => id)).toEqual(['second', 'first']);
    expect(status.activeContainers.map(({ id }) => id)).toEqual(['second']);
    expect(status.ips).toEqual(['10.0.0.2', 'fd00::2']);
  });

  it('orders attempts by their number: the clock may have been set back between them', async () => {
    const status = await read(
      showing({
        sandboxes: [{ id: 'one', attempt: 0 }],
        containers: [
          { id: 'first', sandbox: 'one', createdAt: 9n, state: EXITED },
          { id: 'second', sandbox: 'one', createdAt: 2n, restarts: 1 },
        ],
      }),
    );
    expect(status.containers.map(({ id }) => id)).toEqual(['second', 'first']);
  });

  it.each([
    ['a newest sandbox that is not ready gives none', { ready: false, ip: '10.0.0.1' }],
    ['an address that cannot be read empties the list', { ip: '10.0.0.1', more: ['x'] }],
  ])('addresses: %s', async (_, sandbox) => {
    const status = await read(showing({ sandboxes: [{ id: 'a', attempt: 0, ...sandbox }] }));
    expect(status.ips).toEqual([]);
  });

  it.each([
    ['both', 'b', 'oom', 'oom: bye'],
    ['own words only', 'b', '', 'bye'],
    ["the runtime's only", 'silent', 'oom', 'oom'],
  ])('message of an exited container: %s', async (_, id, message, expected) => {
    const shown = showing({ containers: [{ id, sandbox: 's', createdAt: 1n, state: EXITED, message }] });
    expect((await read(shown)).containers[0]?.message).toBe(expected);
  });

  it.each<[string, string, [number, string], string]>([
    ['missed by the runtime', 'killed', [137, 'Error'], 'OOMKilled'],
    ['of a child, whose parent then failed', 'killed', [1, 'Error'], 'OOMKilled'],
    ['known to the runtime', 'c', [137, 'OOMKilled'], 'OOMKilled'],
    ['of a child, whose parent went on and succeeded', 'killed', [0, 'Completed'], 'Completed'],
    ['none', 'c', [137, 'Error'], 'Error'],
  ])('an OOM kill is the reason of an exit: %s', async (_, id, exit, reason) => {
    const status = await read(
      showing({
        sandboxes: [{ id: 'a', attempt: 0 }],
        containers: [{ id, sandbox: 'a', createdAt: 1n, state: EXITED, exit }],
      }),
    );
    expect(status.containers).toMatchObject([{ exitCode: exit[0], reason }]);
  });

  it('a recent list is not repeated', async () => {
    const { asked, manager } = showing({
      sandboxes: [{ id: 'a', attempt: 0, ip: '10.0.0.1' }],
      containers: [{ id: 'c', sandbox: 'a', createdAt: 1n }],
    });
    const listed = await manager.listPod('uid-1');
    asked.sandboxes = undefined;
    const status = await manager.podStatus('uid-1', 'web', 'shop', listed);
    expect(asked.sandboxes).toBeUndefined();
    expect(status).toMatchObject({ ips: ['10.0.0.1'], activeContainers: [{ id: 'c' }] });
    expect(status.observedAtMs).toBe(listed?.observedAtMs);
  });

  it('what vanished in between is left out', async () => {
    const gone = () => Promise.reject(new CriError('NotFound', 'gone'));
    const shown = showing(
      { sandboxes: [{ id: 'a', attempt: 0 }], containers: [{ id: 'c', sandbox: 'a', createdAt: 1n }] },
      { podSandboxStatus: gone, containerStatus: gone },
    );
    expect(await read(shown)).toMatchObject({ sandboxes: [], containers: [], name: 'web' });
  });

  it.each<[string, Partial<CriRuntime>, string]>([
    [
      'nil container status',
      { containerStatus: async () => ContainerStatusResponse.create() },
      'container status is nil',
    ],
    [
      'nil sandbox status',
      { podSandboxStatus: async () => PodSandboxStatusResponse.create() },
      'pod sandbox status is nil',
    ],
    [
      'any other error',
      { containerStatus: () => Promise.reject(new CriError('Internal', 'x')) },
      'rpc error: code = Internal desc = x',
    ],
  ])('fails: %s', async (_, overrides, message) => {
    const shown = showing(
      { sandboxes: [{ id: 'a', attempt: 0 }], containers: [{ id: 'c', sandbox: 'a', createdAt: 1n }] },
      overrides,
    );
    await expect(read(shown)).rejects.toThrow(message);
  });
});

describe('a pod read by its ids', () => {
  const shown: Shown = {
    sandboxes: [
      { id: 'old', attempt: 0, ready: false, ip: '10.0.0.1' },
      { id: 'new', attempt: 1, ip: '10.0.0.2' },
    ],
    containers: [
      { id: 'first', sandbox: 'old', createdAt: 1n, state: EXITED },
      { id: 'second', sandbox: 'new', createdAt: 2n },
    ],
  };
  const parts = {
    sandboxIds: ['old', 'new'],
    containers: [
      { id: 'first', sandboxId: 'old' },
      { id: 'second', sandboxId: 'new' },
    ],
  };
  const { signal } = new AbortController();

  it('equals listing and reading it, without a list', async () => {
    const { asked, manager } = showing(shown);
    const status = await manager.podStatus('uid-1', 'web', 'shop');
    asked.sandboxes = undefined;
    const read = await manager.byId.read('uid-1', parts, signal);
    expect(asked.sandboxes).toBeUndefined();
    expect(read?.status).toEqual({ ...status, observedAtMs: read?.status.observedAtMs });
    const shape = (pod: ObservedPod | undefined) => ({
      uid: pod?.uid,
      name: pod?.name,
      namespace: pod?.namespace,
      sandboxes: pod?.sandboxes.map(({ id, state, attempt }) => ({ id, state, attempt })),
      containers: pod?.containers.map(({ id, state, sandboxId }) => ({ id, state, sandboxId })),
    });
    expect(shape(read?.pod)).toEqual(shape(await manager.listPod('uid-1')));
  });

  const gone = () => Promise.reject(new CriError('NotFound', 'gone'));
  it.each<[string, string, Partial<CriRuntime>]>([
    ['a sandbox is gone', 'uid-1', { podSandboxStatus: gone }],
    ['a container is gone', 'uid-1', { containerStatus: gone }],
    ["a part is another pod's", 'uid-2', {}],
  ])('is undefined when %s', async (_, uid, overrides) => {
    expect(await showing(shown, overrides).manager.byId.read(uid, parts, signal)).toBeUndefined();
  });
  it('fails with any other error', async () => {
    const busy = { containerStatus: () => Promise.reject(new CriError('Internal', 'x')) };
    await expect(showing(shown, busy).manager.byId.read('uid-1', parts, signal)).rejects.toThrow('x');
  });
});
