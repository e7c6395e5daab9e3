/** Pods, statuses and a scripted runtime for this room's tests; not part of the product. */
import { Backoff, type Clock, sleep, VirtualClock } from '../async/index.js';
import {
  ContainerStatusResponse,
  CreateContainerResponse,
  type CriRuntime,
  ListContainersResponse,
  ListPodSandboxResponse,
  type ObservedContainerStatus,
  type ObservedPodStatus,
  type ObservedSandboxStatus,
  PodSandboxState,
  PodSandboxStatusResponse,
  RunPodSandboxResponse,
  unimplementedCriRuntime,
} from '../cri/index.js';
import { type Container, hashContainer, type Pod, type PodSpec, podContainers } from '../kube/index.js';
import { Timeline } from '../timeline/index.js';
import { filelessPodConfigs } from './config/fileless.js';
import type { RuntimeManagerOptions } from './manager.js';

export function container(name: string, extra: Partial<Container> = {}): Container {
  return { name, image: `example/${name}:1`, ...extra };
}

export function makePod(spec: Partial<PodSpec> = {}, metadata: Partial<Pod['metadata']> = {}): Pod {
  return {
    metadata: { name: 'web', namespace: 'shop', uid: 'uid-1', ...metadata },
    spec: { containers: [container('c0'), container('c1'), container('c2')], ...spec },
  };
}

export function makeSandbox(extra: Partial<ObservedSandboxStatus> = {}): ObservedSandboxStatus {
  return {
    id: 'sandbox-0',
    ready: true,
    attempt: 0,
    createdAtNs: 1n,
    hostNetwork: false,
    network: { ip: '10.0.0.7', additionalIps: [] },
    runtimeHandler: '',
    ...extra,
  };
}

export type Instance = Partial<ObservedContainerStatus> & { readonly name: string };

/** The instances in the order given, newest first; hashes default to those of the pod's spec. */
export function makeStatus(
  pod: Pod,
  instances: readonly Instance[],
  sandboxes: readonly ObservedSandboxStatus[] = [makeSandbox()],
): ObservedPodStatus {
  const containers = instances.map((instance, index): ObservedContainerStatus => {
    const spec = [...podContainers(pod)].find((entry) => entry.container.name === instance.name);
    return {
      id: `id-${instance.name}`,
      state: 'running',
      createdAtNs: BigInt(1000 - index),
      startedAtNs: 1n,
      finishedAtNs: 0n,
      exitCode: 0,
      reason: '',
      message: '',
      image: '',
      imageId: '',
      imageRef: '',
      hash: spec === undefined ? '' : hashContainer(spec.container),
      restartCount: 0,
      terminationMessagePath: '',
      terminationMessagePolicy: '',
      logPath: '',
      mounts: [],
      resources: undefined,
      user: undefined,
      labels: {},
      annotations: {},
      ...instance,
    };
  });
  const { uid, name, namespace } = pod.metadata;
  return {
    uid,
    name,
    namespace,
    ips: ['10.0.0.7'],
    sandboxes,
    containers,
    activeContainers: containers,
    observedAtMs: 0,
  };
}

export const running = (name: string, extra: Partial<Instance> = {}): Instance => ({
  name,
  state: 'running',
  ...extra,
});
export const exited = (name: string, exitCode = 0, extra: Partial<Instance> = {}): Instance => ({
  name,
  state: 'exited',
  exitCode,
  ...extra,
});

export interface RecordedCriCall {
  readonly method: string;
  readonly target: string;
  readonly atMs: number;
  readonly timeout?: number;
}

export interface RecordingRuntime {
  readonly cri: CriRuntime;
  readonly calls: RecordedCriCall[];
}

/** A runtime that accepts and records every call; `overrides` change single responses. */
export function scriptedRuntime(
  clock: Clock,
  script: {
    readonly stopMs?: Readonly<Record<string, number>>;
    readonly overrides?: Partial<CriRuntime>;
  } = {},
): RecordingRuntime {
  const calls: RecordedCriCall[] = [];
  let sandboxes = 0;
  const note = (method: string, target: string, timeout?: number): void => {
    calls.push({ method, target, atMs: clock.monotonic(), ...(timeout === undefined ? {} : { timeout }) });
  };
  const answers: Partial<CriRuntime> = {
    runPodSandbox: async ({ config }) => {
      note('RunPodSandbox', config?.metadata?.uid ?? '');
      return RunPodSandboxResponse.create({ podSandboxId: `new-sandbox-${++sandboxes}` });
    },
    podSandboxStatus: async ({ podSandboxId = '' }) =>
      PodSandboxStatusResponse.create({
        status: {
          id: podSandboxId,
          state: PodSandboxState.SANDBOX_READY,
          metadata: { name: 'web', namespace: 'shop', uid: 'uid-1' },
          createdAt: 1n,
          network: { ip: '10.0.0.9', additionalIps: [{ ip: 'fd00::9' }] },
        },
      }),
    stopPodSandbox: async ({ podSandboxId = '' }) => {
      note('StopPodSandbox', podSandboxId);
      return {};
    },
    createContainer: async ({ config }) => {
      const name = config?.metadata?.name ?? '';
      note('CreateContainer', name);
      return CreateContainerResponse.create({ containerId: `new-${name}` });
    },
    startContainer: async ({ containerId = '' }) => {
      note('StartContainer', containerId);
      return {};
    },
    stopContainer: async ({ containerId = '', timeout = 0 }) => {
      note('StopContainer', containerId, Number(timeout));
      const durationMs = script.stopMs?.[containerId] ?? 0;
      if (durationMs > 0) await sleep(clock, durationMs);
      return {};
    },
    containerStatus: async () => ContainerStatusResponse.create(),
    listPodSandbox: async () => ListPodSandboxResponse.create(),
    listContainers: async () => ListContainersResponse.create(),
  };
  const cri: CriRuntime = { ...unimplementedCriRuntime(), ...answers, ...script.overrides };
  return { cri, calls };
}

export interface RuntimeManagerBench {
  readonly clock: VirtualClock;
  readonly timeline: Timeline;
  readonly calls: RecordedCriCall[];
  readonly removed: string[];
  readonly options: RuntimeManagerOptions;
  /** `type reason message` of every event so far. */
  events(): string[];
}

/** Everything that a manager needs, with the simplest implementations. */
export function bench(
  script: Parameters<typeof scriptedRuntime>[1] & {
    readonly options?: Partial<RuntimeManagerOptions>;
    readonly podLogsDir?: string;
  } = {},
): RuntimeManagerBench {
  const clock = new VirtualClock();
  const timeline = new Timeline({ clock });
  const { cri, calls } = scriptedRuntime(clock, script);
  const removed: string[] = [];
  const seen: string[] = [];
  timeline.subscribe((entry) => {
    if (entry.event !== undefined) seen.push(`${entry.event.type} ${entry.event.reason} ${entry.message}`);
  });
  const options: RuntimeManagerOptions = {
    cri,
    clock,
    timeline,
    images: { ensure: async ({ container: { image = '' } }) => ({ ref: image }) },
    configs: {
      sandbox: async ({ metadata }, attempt) => ({
        metadata: { name: metadata.name, namespace: metadata.namespace, uid: metadata.uid, attempt },
        logDirectory: '',
      }),
      container: async ({ container: { name }, restartCount }) => ({
        config: { metadata: { name, attempt: restartCount } },
        cleanup: async () => {},
      }),
      containerResources: filelessPodConfigs.containerResources,
      podResources: filelessPodConfigs.podResources,
    },
    podStates: {
      isTerminationRequested: () => false,
      shouldContentBeRemoved: () => false,
      shouldRuntimeBeRemoved: () => false,
    },
    remover: {
      remove: async ({ id }, { keepLogs }) => {
        removed.push(keepLogs ? `${id} (logs kept)` : id);
      },
    },
    startsAtOnce: 4,
    crashLoop: new Backoff({ initialMs: 10_000, maxMs: 300_000, resetAfterMs: 600_000 }),
    podLogsDir: script.podLogsDir ?? '/nonexistent/pods',
    ...script.options,
  };
  return { clock, timeline, calls, removed, options, events: () => [...seen] };
}
