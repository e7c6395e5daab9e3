/** Small pods, observations and container statuses for the tests of this directory. */
import {
  absentPodStatus,
  type ObservedContainerStatus,
  type ObservedPodStatus,
  type ObservedSandboxStatus,
} from '../../cri/index.js';
import type { Container, ContainerStatus, Pod, PodSpec, PodStatus } from '../../kube/index.js';
import { type GenerateInput, generatePodStatus } from './generate.js';

export const fixtureNowMs = Date.UTC(2026, 0, 1, 0, 10);
const startNs = BigInt(Date.UTC(2026, 0, 1)) * 1_000_000n;

export interface PodOptions {
  readonly policy?: string;
  readonly containers?: readonly (string | Container)[];
  readonly initContainers?: readonly (string | Container)[];
  readonly metadata?: Partial<Pod['metadata']>;
  readonly spec?: Partial<PodSpec>;
  readonly status?: PodStatus;
}

export const sidecar = (name: string, more: Partial<Container> = {}): Container => ({
  name,
  image: 'side:1',
  restartPolicy: 'Always',
  ...more,
});

export function makePod(options: PodOptions = {}): Pod {
  const toContainer = (container: string | Container): Container =>
    typeof container === 'string' ? { name: container, image: `${container}:1` } : container;
  const { policy = 'Always', containers = ['a'], initContainers = [], metadata, spec, status } = options;
  return {
    metadata: { name: 'web', namespace: 'default', uid: 'uid-1', ...metadata },
    spec: {
      restartPolicy: policy,
      containers: containers.map(toContainer),
      ...(initContainers.length === 0 ? {} : { initContainers: initContainers.map(toContainer) }),
      ...spec,
    },
    ...(status === undefined ? {} : { status }),
  };
}

export function instance(
  name: string,
  state: ObservedContainerStatus['state'],
  more: Partial<ObservedContainerStatus> = {},
): ObservedContainerStatus {
  const isExited = state === 'exited';
  return {
    id: `${name}-0`,
    name,
    state,
    createdAtNs: startNs,
    startedAtNs: state === 'created' ? 0n : startNs,
    finishedAtNs: isExited ? startNs + 60_000_000_000n : 0n,
    exitCode: 0,
    reason: isExited ? ((more.exitCode ?? 0) === 0 ? 'Completed' : 'Error') : '',
    message: '',
    image: `${name}:1`,
    imageId: `sha256:${name}`,
    imageRef: `repo/${name}@sha256:1`,
    hash: '0',
    restartCount: 0,
    terminationMessagePath: '',
    terminationMessagePolicy: '',
    logPath: '',
    mounts: [],
    resources: undefined,
    user: undefined,
    labels: {},
    annotations: {},
    ...more,
  };
}

export const readySandbox: ObservedSandboxStatus = {
  id: 'sandbox-0',
  ready: true,
  attempt: 0,
  createdAtNs: startNs,
  hostNetwork: false,
  network: { ip: '10.0.0.5', additionalIps: [] },
  runtimeHandler: '',
};

/** A pod whose containers are all in one ready sandbox. */
export function observe(
  containers: readonly ObservedContainerStatus[],
  more: Partial<ObservedPodStatus> = {},
): ObservedPodStatus {
  return {
    ...absentPodStatus('uid-1'),
    ips: ['10.0.0.5'],
    sandboxes: [readySandbox],
    containers,
    activeContainers: containers,
    ...more,
  };
}

type StateText = 'waiting' | 'running' | 'unset' | `exit ${number}`;

/** An API container status: `state` as text, `last` the exit code of its last state. */
export function statusOf(
  name: string,
  state: StateText,
  { last, ...more }: Partial<ContainerStatus> & { last?: number } = {},
): ContainerStatus {
  return {
    name,
    state: toState(state),
    lastState: last === undefined ? {} : { terminated: { exitCode: last } },
    ready: false,
    restartCount: 0,
    image: `${name}:1`,
    imageID: '',
    ...more,
  };
}

function toState(state: StateText): NonNullable<ContainerStatus['state']> {
  switch (state) {
    case 'waiting':
      return { waiting: { reason: 'ContainerCreating' } };
    case 'running':
      return { running: { startedAt: '2026-01-01T00:00:00Z' } };
    case 'unset':
      return {};
    default:
      return { terminated: { exitCode: Number(state.slice(5)) } };
  }
}

/** `generatePodStatus` with defaults for everything that a case does not set. */
export function generate(
  pod: Pod,
  observed: ObservedPodStatus,
  more: Partial<GenerateInput> = {},
): PodStatus {
  return generatePodStatus({
    pod,
    observed,
    podIsTerminal: false,
    nowMs: fixtureNowMs,
    runtimeName: 'containerd',
    ...more,
  });
}
