import { describe, expect, it } from 'vitest';
import type { Container, ContainerState, Pod, PodStatus, ProbeResult } from '../kube/index.js';
import type { ProbeKind } from './contracts.js';
import { probeSettings } from './contracts.js';
import { initialState, nextStep, takeResult, type WorkerFacts, type WorkerState } from './worker-step.js';

const startedAt = '2026-01-01T00:00:00Z';
const startMs = Date.parse(startedAt);
const running: ContainerState = { running: { startedAt } };
const ended = (exitCode: number, reason = 'Error'): ContainerState => ({ terminated: { exitCode, reason } });

interface Row {
  readonly kind?: ProbeKind;
  readonly container?: Partial<Container>;
  readonly pod?: { spec?: Partial<Pod['spec']>; metadata?: Partial<Pod['metadata']> };
  readonly probe?: Partial<NonNullable<Container['livenessProbe']>>;
  readonly probingSinceMs?: number;
  readonly state?: Partial<WorkerState>;
  readonly status?: PodStatus | 'none';
  readonly phase?: PodStatus['phase'];
  readonly seen?: ContainerState;
  readonly containerID?: string;
  readonly started?: boolean;
  readonly conditions?: PodStatus['conditions'];
  readonly asSidecar?: boolean;
  readonly nowMs?: number;
  /** How long the clock runs that nobody sets. */
  readonly monotonicMs?: number;
  readonly expected: {
    next: string;
    store?: ProbeResult;
    forget?: string;
    containerId?: string;
    onHold?: boolean;
  };
}

function factsOf(row: Row): WorkerFacts {
  const container: Container = {
    name: 'app',
    ...(row.asSidecar ? { restartPolicy: 'Always' } : {}),
    ...row.container,
  };
  return {
    kind: row.kind ?? 'liveness',
    pod: {
      metadata: { uid: 'u', name: 'a', namespace: 'default', ...row.pod?.metadata },
      spec: {
        containers: row.asSidecar ? [{ name: 'main' }] : [container],
        ...(row.asSidecar ? { initContainers: [container] } : {}),
        ...row.pod?.spec,
      },
    },
    container,
    settings: probeSettings(row.probe ?? {}),
    probingSinceMs: row.probingSinceMs ?? startMs,
  };
}

function statusOf(row: Row): PodStatus | undefined {
  if (row.status === 'none') return undefined;
  if (row.status !== undefined) return row.status;
  const seen = {
    name: 'app',
    ready: false,
    restartCount: 0,
    image: '',
    imageID: '',
    containerID: row.containerID ?? 'containerd://c1',
    state: row.seen ?? running,
    ...(row.started === undefined ? {} : { started: row.started }),
  };
  return {
    phase: row.phase ?? 'Running',
    ...(row.conditions === undefined ? {} : { conditions: row.conditions }),
    ...(row.asSidecar ? { initContainerStatuses: [seen] } : { containerStatuses: [seen] }),
  };
}

const known: Partial<WorkerState> = { containerId: 'c1' };
const restartAll = {
  restartPolicy: 'Never',
  restartPolicyRules: [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }],
};

const rows: Record<string, Row> = {
  'no status is reported for the pod yet': { status: 'none', expected: { next: 'wait', containerId: '' } },
  'the pod has succeeded': { phase: 'Succeeded', expected: { next: 'exit', containerId: '' } },
  'the pod has failed': { phase: 'Failed', expected: { next: 'exit', containerId: '' } },
  'the container is not in the status': {
    status: { phase: 'Running' },
    expected: { next: 'wait', containerId: '' },
  },
  'the container has no id yet': {
    containerID: '',
    seen: { waiting: {} },
    expected: { next: 'wait', containerId: '' },
  },
  'a new container is alive until a probe fails': {
    started: true,
    expected: { next: 'probe', store: 'success' },
  },
  'a new container is not ready until a probe succeeds': {
    kind: 'readiness',
    started: true,
    expected: { next: 'probe', store: 'failure' },
  },
  'whether a new container has started is unknown': {
    kind: 'startup',
    started: false,
    expected: { next: 'probe', store: 'unknown' },
  },
  "a new id drops the old one's result and lifts the hold": {
    state: { containerId: 'c0', onHold: true },
    started: true,
    expected: { next: 'probe', store: 'success', forget: 'c0' },
  },
  'on hold': { state: { ...known, onHold: true }, started: true, expected: { next: 'wait', onHold: true } },
  'nothing is assumed of a container that ran before the agent': {
    kind: 'readiness',
    probingSinceMs: startMs + 10_001,
    started: true,
    expected: { next: 'probe' },
  },
  'ten seconds earlier does not count as before the agent': {
    kind: 'readiness',
    probingSinceMs: startMs + 10_000,
    started: true,
    expected: { next: 'probe', store: 'failure' },
  },
  'a sidecar that had started before the agent has started': {
    kind: 'startup',
    asSidecar: true,
    probingSinceMs: startMs + 10_001,
    started: true,
    expected: { next: 'wait', store: 'success' },
  },
  'a regular container that had started before the agent is not probed for it': {
    kind: 'startup',
    probingSinceMs: startMs + 10_001,
    started: true,
    expected: { next: 'wait' },
  },
  'waiting counts as failure': {
    state: known,
    seen: { waiting: { reason: 'CrashLoopBackOff' } },
    expected: { next: 'wait', store: 'failure' },
  },
  'ended, to be restarted': { state: known, seen: ended(0), expected: { next: 'wait', store: 'failure' } },
  'ended for good': {
    state: known,
    seen: ended(0),
    pod: { spec: { restartPolicy: 'OnFailure' } },
    expected: { next: 'exit', store: 'failure' },
  },
  'failed under OnFailure': {
    state: known,
    seen: ended(1),
    pod: { spec: { restartPolicy: 'OnFailure' } },
    expected: { next: 'wait', store: 'failure' },
  },
  'failed under Never': {
    state: known,
    seen: ended(1),
    pod: { spec: { restartPolicy: 'Never' } },
    expected: { next: 'exit', store: 'failure' },
  },
  'a restart rule of the container restarts it': {
    state: known,
    seen: ended(42),
    pod: { spec: { restartPolicy: 'Never' } },
    container: {
      restartPolicy: 'Never',
      restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }],
    },
    expected: { next: 'wait', store: 'failure' },
  },
  'stopped because all containers restart': {
    state: known,
    seen: ended(137, 'RestartingAllContainers'),
    pod: { spec: { restartPolicy: 'Never' } },
    expected: { next: 'wait', store: 'failure' },
  },
  'all containers are being restarted, by the condition': {
    state: known,
    seen: ended(1),
    pod: { spec: { restartPolicy: 'Never' } },
    conditions: [{ type: 'AllContainersRestarting', status: 'True' }],
    expected: { next: 'wait', store: 'failure' },
  },
  "all containers are being restarted, by a container's restart rule": {
    state: known,
    seen: ended(42),
    pod: { spec: { restartPolicy: 'Never' } },
    container: restartAll,
    expected: { next: 'wait', store: 'failure' },
  },
  "an ended sidecar is restarted whatever the pod's policy": {
    state: known,
    asSidecar: true,
    seen: ended(0),
    pod: { spec: { restartPolicy: 'Never' } },
    expected: { next: 'wait', store: 'failure' },
  },
  'liveness of a pod already being deleted when the worker was created': {
    state: known,
    started: true,
    pod: { metadata: { deletionTimestamp: startedAt } },
    expected: { next: 'exit', store: 'success' },
  },
  'startup of a pod already being deleted when the worker was created': {
    kind: 'startup',
    state: known,
    pod: { metadata: { deletionTimestamp: startedAt } },
    expected: { next: 'exit', store: 'success' },
  },
  'readiness of a pod that is being deleted goes on': {
    kind: 'readiness',
    state: known,
    started: true,
    pod: { metadata: { deletionTimestamp: startedAt } },
    expected: { next: 'probe' },
  },
  'within the initial delay': {
    state: known,
    started: true,
    probe: { initialDelaySeconds: 30 },
    nowMs: startMs + 29_999,
    expected: { next: 'wait' },
  },
  'after the initial delay': {
    state: known,
    started: true,
    probe: { initialDelaySeconds: 30 },
    nowMs: startMs + 30_000,
    expected: { next: 'probe' },
  },
  'the wall clock was set back: it was just seen to run': {
    state: known,
    started: true,
    probe: { initialDelaySeconds: 30 },
    nowMs: startMs - 3_600_000,
    monotonicMs: 500_000,
    expected: { next: 'wait' },
  },
  'the wall clock was set back: it was seen to run as long as the initial delay': {
    state: { ...known, seenRunningMs: 470_000 },
    started: true,
    probe: { initialDelaySeconds: 30 },
    nowMs: startMs - 3_600_000,
    monotonicMs: 500_000,
    expected: { next: 'probe' },
  },
  'the wall clock was set back: no initial delay': {
    state: known,
    started: true,
    nowMs: startMs - 3_600_000,
    expected: { next: 'probe' },
  },
  'a new container is not as old as the one before': {
    state: { ...known, seenRunningMs: 0 },
    containerID: 'containerd://c2',
    started: true,
    probe: { initialDelaySeconds: 30 },
    nowMs: startMs + 1_000,
    monotonicMs: 500_000,
    expected: { next: 'wait', store: 'success', forget: 'c1', containerId: 'c2' },
  },
  'startup is over once it has started': {
    kind: 'startup',
    state: known,
    started: true,
    expected: { next: 'wait' },
  },
  'startup before it has started': { kind: 'startup', state: known, expected: { next: 'probe' } },
  'liveness before it has started': { state: known, started: false, expected: { next: 'wait' } },
  'readiness before it is known to have started': {
    kind: 'readiness',
    state: known,
    expected: { next: 'wait' },
  },
};

describe('what a worker does next', () => {
  it.each(Object.entries(rows))('%s', (_, row) => {
    const step = nextStep(factsOf(row), { ...initialState, ...row.state }, statusOf(row), {
      wallMs: row.nowMs ?? startMs + 1_000,
      monotonicMs: row.monotonicMs ?? 0,
    });
    const { containerId = 'c1', onHold = false, ...expected } = row.expected;
    expect({
      next: step.next,
      ...(step.store === undefined ? {} : { store: step.store.result }),
      ...(step.forget === undefined ? {} : { forget: step.forget }),
    }).toEqual(expected);
    expect(step.state).toMatchObject({ containerId, onHold });
  });

  it('keeps its count over a new container', () => {
    const state: WorkerState = { containerId: 'c0', onHold: false, lastResult: 'failure', run: 2 };
    const step = nextStep(
      factsOf({ expected: { next: 'probe' } }),
      state,
      statusOf({ started: true, expected: { next: '' } }),
      { wallMs: startMs, monotonicMs: 7 },
    );
    expect(step.state).toEqual({ ...state, containerId: 'c1', seenRunningMs: 7 });
  });
});

describe('counting results', () => {
  interface Series {
    readonly kind?: ProbeKind;
    readonly thresholds?: { successThreshold?: number; failureThreshold?: number };
    /** S or F for each run. */
    readonly results: string;
    /** The result stored after each run; `-` for none. */
    readonly stored: string;
    readonly onHold?: boolean;
  }
  const series: Record<string, Series> = {
    'one success is enough': { results: 'S', stored: 'S' },
    'failures count in a row': { results: 'FFSFFF', stored: '--S--F', onHold: true },
    'readiness is never on hold': { kind: 'readiness', results: 'FFFFSF', stored: '--FFS-' },
    'successes count in a row': {
      kind: 'readiness',
      thresholds: { successThreshold: 2, failureThreshold: 1 },
      results: 'SFSSS',
      stored: '-F-SS',
    },
    'startup is settled by success': { kind: 'startup', results: 'FFS', stored: '--S', onHold: true },
    'startup is settled by failure': {
      kind: 'startup',
      thresholds: { failureThreshold: 2 },
      results: 'FF',
      stored: '-F',
      onHold: true,
    },
  };

  it.each(Object.entries(series))(
    '%s',
    (_, { kind = 'liveness', thresholds = {}, results, stored, onHold }) => {
      let state: WorkerState = { ...initialState, containerId: 'c1' };
      const settings = probeSettings(thresholds);
      const seen = [...results].map((letter) => {
        const taken = takeResult({ kind, settings }, state, letter === 'S' ? 'success' : 'failure');
        state = taken.state;
        return taken.store === undefined ? '-' : taken.store === 'success' ? 'S' : 'F';
      });
      expect(seen.join('')).toBe(stored);
      expect(state.onHold).toBe(onHold ?? false);
      if (onHold) expect(state.run).toBe(0);
    },
  );
});
