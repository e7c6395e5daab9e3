import { describe, expect, it } from 'vitest';
import type { Container, ContainerStatus, PodStatus, ProbeResult } from '../../kube/index.js';
import { makePod, sidecar, statusOf } from './pod-fixtures.js';
import { type ProbeView, withInitProbeResults, withProbeResults } from './readiness.js';

interface Row {
  status?: ContainerStatus;
  container?: Partial<Container>;
  api?: PodStatus;
  startup?: ProbeResult;
  readiness?: ProbeResult;
  startupWorker?: boolean;
  readinessWorker?: boolean;
  /** Probing began this long after the container started. */
  probingAfterMs?: number;
  expected: [started: boolean, ready: boolean];
  triggered?: boolean;
}

const running = statusOf('a', 'running', { containerID: 'containerd://id-a' });
const readinessProbe = { tcpSocket: { port: 80 } };
const readyApi: PodStatus = { conditions: [{ type: 'Ready', status: 'True' }] };
const containerStartMs = Date.UTC(2026, 0, 1);

const rows: Record<string, Row> = {
  'running without probes is started and ready': { expected: [true, true] },
  'waiting is neither': { status: statusOf('a', 'waiting'), expected: [false, false] },
  'ended is neither': { status: statusOf('a', 'exit 0', { started: true }), expected: [false, false] },
  'a startup probe that has not succeeded': { startupWorker: true, expected: [false, false] },
  'a startup probe that succeeded': { startupWorker: true, startup: 'success', expected: [true, true] },
  'an unknown startup result is none': { startupWorker: true, startup: 'unknown', expected: [false, false] },
  'started is inherited while there is no result': {
    status: { ...running, started: true },
    startupWorker: true,
    expected: [true, true],
  },
  'a startup result beats what was inherited': {
    status: { ...running, started: true },
    startup: 'failure',
    expected: [false, false],
  },
  'readiness not probed yet is triggered': {
    readinessWorker: true,
    expected: [true, false],
    triggered: true,
  },
  'readiness failed': {
    readinessWorker: true,
    readiness: 'failure',
    expected: [true, false],
    triggered: true,
  },
  'readiness succeeded': { readinessWorker: true, readiness: 'success', expected: [true, true] },
  'agent restarted: a ready pod stays ready': {
    readinessWorker: true,
    container: { readinessProbe },
    api: readyApi,
    probingAfterMs: 10_001,
    expected: [true, true],
    triggered: true,
  },
  'agent restarted: a pod that was not ready waits': {
    readinessWorker: true,
    container: { readinessProbe },
    probingAfterMs: 10_001,
    expected: [true, false],
    triggered: true,
  },
  'agent restarted: a failure counts': {
    readinessWorker: true,
    readiness: 'failure',
    container: { readinessProbe },
    api: readyApi,
    probingAfterMs: 10_001,
    expected: [true, false],
    triggered: true,
  },
  'started within ten seconds of the agent: as any new container': {
    readinessWorker: true,
    container: { readinessProbe },
    api: readyApi,
    probingAfterMs: 10_000,
    expected: [true, false],
    triggered: true,
  },
};

const viewOf = (row: Row, triggers: string[]): ProbeView => ({
  startupResult: (id) => (id === 'id-a' ? row.startup : undefined),
  readinessResult: (id) => (id === 'id-a' ? row.readiness : undefined),
  livenessResult: () => undefined,
  hasStartupWorker: (uid, name) => uid === 'uid-1' && name === 'a' && row.startupWorker === true,
  hasReadinessWorker: (uid, name) => uid === 'uid-1' && name === 'a' && row.readinessWorker === true,
  triggerReadiness: (_, name) => void triggers.push(name),
  ...(row.probingAfterMs === undefined ? {} : { startedAtMs: containerStartMs + row.probingAfterMs }),
});

describe.each(['regular container', 'sidecar'])('%s', (kind) => {
  it.each(Object.entries(rows))('%s', (_, row) => {
    const triggers: string[] = [];
    const view = viewOf(row, triggers);
    const statuses = [row.status ?? running];
    const status = row.api === undefined ? {} : { status: row.api };
    const [actual] =
      kind === 'sidecar'
        ? withInitProbeResults(
            makePod({ initContainers: [sidecar('a', row.container)], containers: ['b'], ...status }),
            statuses,
            view,
          )
        : withProbeResults(
            makePod({ containers: [{ name: 'a', ...row.container }], ...status }),
            statuses,
            view,
          );
    expect([actual?.started, actual?.ready]).toEqual(row.expected);
    expect(triggers).toEqual(row.triggered ? ['a'] : []);
  });
});

describe('plain init container', () => {
  const pod = makePod({ initContainers: ['i'] });
  it.each<[string, ContainerStatus, [boolean, boolean]]>([
    ['running', statusOf('i', 'running'), [true, false]],
    ['succeeded', statusOf('i', 'exit 0'), [false, true]],
    ['failed', statusOf('i', 'exit 1'), [false, false]],
    ['waiting', statusOf('i', 'waiting'), [false, false]],
  ])('%s', (_, status, expected) => {
    const [actual] = withInitProbeResults(pod, [status]);
    expect([actual?.started, actual?.ready]).toEqual(expected);
  });
});
