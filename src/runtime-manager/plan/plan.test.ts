import { describe, expect, it } from 'vitest';
import { Backoff } from '../../async/index.js';
import type { ObservedPodStatus } from '../../cri/index.js';
import { type Container, isSidecar, type Pod, podContainers } from '../../kube/index.js';
import { planReasonText } from '../../timeline/index.js';
import type { ProbeVerdict, ProbeVerdicts } from '../contracts.js';
import { crashLoopDelays } from '../start/crash-loop.js';
import {
  container,
  exited,
  type Instance,
  makePod,
  makeSandbox,
  makeStatus,
  running,
} from '../test-fixtures.js';
import { type BackOffView, crashLoopKey } from './back-off.js';
import { isStranded, planPod } from './plan.js';
import { planEntry } from './plan-data.js';
import { hasActions } from './pod-plan.js';

interface Expected {
  killPod?: boolean;
  createSandbox?: boolean;
  attempt?: number;
  init?: number[];
  start?: number[];
  ephemeral?: number[];
  /** Each wait with the seconds from the exit to the start. */
  waits?: string[];
  kill?: string[];
  reset?: string[];
}

interface Row {
  rule: string;
  pod: Pod;
  status: ObservedPodStatus;
  liveness?: Record<string, ProbeVerdict>;
  startup?: Record<string, ProbeVerdict>;
  restartingAll?: boolean;
  /** Milliseconds since the containers ended; 0 by default. */
  sinceExitMs?: number;
  backOff?: BackOffView;
  expected: Expected;
}

const exitMs = 1_000_000;
const nobodyWaits: BackOffView = { waiting: () => undefined };

function summarise(row: Row): Expected {
  const probes: ProbeVerdicts = {
    liveness: (id) => row.liveness?.[id],
    startup: (id) => row.startup?.[id],
  };
  const plan = planPod({
    pod: row.pod,
    status: row.status,
    nowMs: exitMs + (row.sinceExitMs ?? 0),
    backOff: row.backOff ?? nobodyWaits,
    probes,
    restartingAllContainers: row.restartingAll ?? false,
  });
  for (const step of planEntry(plan).data.steps) {
    expect(planReasonText(step), `reason to ${step.action}`).not.toBe('');
  }
  const summary: Expected = {
    killPod: plan.killPod !== undefined,
    createSandbox: plan.createSandbox !== undefined,
    attempt: plan.attempt,
    init: plan.initContainersToStart.map(({ index }) => index),
    start: plan.containersToStart.map(({ index }) => index),
    ephemeral: plan.ephemeralContainersToStart.map(({ index }) => index),
    waits: plan.waiting.map(({ name, untilMs }) => `${name}:${(untilMs - exitMs) / 1000}s`),
    kill: [...plan.containersToKill.values()].map(({ name, reason }) => `${name}:${reason}`),
    reset: plan.containersToReset.map(({ id, kill }) => (kill ? `${id}:kill` : id)),
  };
  expect(hasActions(plan)).toBe(
    Object.values(summary).some((value) => value === true || (Array.isArray(value) && value.length > 0)),
  );
  return summary;
}

const nothing: Expected = {
  killPod: false,
  createSandbox: false,
  attempt: 0,
  init: [],
  start: [],
  ephemeral: [],
  waits: [],
  kill: [],
  reset: [],
};

const always = makePod({ restartPolicy: 'Always' });
const onFailure = makePod({ restartPolicy: 'OnFailure' });
const never = makePod({ restartPolicy: 'Never' });
const allRunning = [running('c0'), running('c1'), running('c2')];
const allSucceeded = [exited('c0'), exited('c1'), exited('c2')];
const notReady = (attempt = 0) => [makeSandbox({ ready: false, attempt })];

/** The status of a pod whose containers run, with some of them replaced. */
function statusWith(pod: Pod, ...changed: Instance[]): ObservedPodStatus {
  const names = new Set(changed.map(({ name }) => name));
  return makeStatus(pod, [...changed, ...allRunning.filter(({ name }) => !names.has(name))]);
}

const replaced = { ...nothing, killPod: true, createSandbox: true, attempt: 1, start: [0, 1, 2] };

const regularRows: Row[] = [
  { rule: 'all containers run as desired', pod: always, status: statusWith(always), expected: nothing },
  {
    rule: 'nothing exists yet',
    pod: always,
    status: makeStatus(always, [], []),
    expected: { ...replaced, attempt: 0 },
  },
  {
    rule: 'Always restarts for any exit code',
    pod: always,
    status: statusWith(always, exited('c0', 0), exited('c1', 111)),
    expected: { ...nothing, start: [0, 1] },
  },
  {
    rule: 'OnFailure restarts failures only',
    pod: onFailure,
    status: statusWith(onFailure, exited('c0', 0), exited('c1', 111)),
    expected: { ...nothing, start: [1] },
  },
  {
    rule: 'a created container is started',
    pod: onFailure,
    status: statusWith(onFailure, exited('c0', 0), { name: 'c1', state: 'created' }),
    expected: { ...nothing, start: [1] },
  },
  {
    rule: 'Never restarts no container',
    pod: never,
    status: statusWith(never, exited('c0', 0), exited('c1', 111)),
    expected: nothing,
  },
  {
    rule: 'a sandbox that is not ready is replaced',
    pod: always,
    status: makeStatus(always, allRunning, notReady()),
    expected: replaced,
  },
  {
    rule: 'a new sandbox starts no succeeded container under OnFailure',
    pod: onFailure,
    status: makeStatus(onFailure, [running('c0'), exited('c1'), running('c2')], notReady()),
    expected: { ...replaced, start: [0, 2] },
  },
  {
    rule: 'a ready sandbox without an IP is replaced',
    pod: always,
    status: makeStatus(always, allRunning, [makeSandbox({ network: { ip: '', additionalIps: [] } })]),
    expected: replaced,
  },
  {
    rule: 'on the host network no IP is required',
    pod: makePod({ hostNetwork: true }),
    status: makeStatus(always, allRunning, [
      makeSandbox({ hostNetwork: true, network: { ip: '', additionalIps: [] } }),
    ]),
    expected: nothing,
  },
  {
    rule: 'a sandbox on the wrong network is replaced',
    pod: makePod({ hostNetwork: true }),
    status: makeStatus(always, allRunning),
    expected: replaced,
  },
  {
    rule: 'another image kills and starts the container even with Never',
    pod: never,
    status: statusWith(never, running('c1', { hash: 'deadbeef' })),
    expected: { ...nothing, kill: ['c1:'], start: [1] },
  },
  {
    rule: 'a failed liveness probe restarts',
    pod: always,
    status: statusWith(always),
    liveness: { 'id-c1': 'failure' },
    expected: { ...nothing, kill: ['c1:LivenessProbe'], start: [1] },
  },
  {
    rule: 'a failed startup probe with Never only kills',
    pod: never,
    status: statusWith(never),
    startup: { 'id-c1': 'failure' },
    expected: { ...nothing, kill: ['c1:StartupProbe'] },
  },
  {
    rule: 'the only container failing its probe under Never ends the pod',
    pod: makePod({ restartPolicy: 'Never', containers: [container('c0')] }),
    status: makeStatus(always, [running('c0')]),
    liveness: { 'id-c0': 'failure' },
    expected: { ...nothing, killPod: true },
  },
  {
    rule: 'a pod with Never that ran gets no second sandbox',
    pod: never,
    status: makeStatus(never, allSucceeded, notReady(1)),
    expected: { ...nothing, killPod: true, attempt: 2 },
  },
  {
    rule: 'OnFailure with nothing left to run gets no new sandbox',
    pod: onFailure,
    status: makeStatus(onFailure, allSucceeded, notReady(1)),
    expected: { ...nothing, killPod: true, attempt: 2 },
  },
  {
    rule: 'a pod with Never that never had a container gets another sandbox',
    pod: never,
    status: makeStatus(never, [], notReady(2)),
    expected: { ...replaced, attempt: 3 },
  },
  {
    rule: 'a container in unknown state is killed and started',
    pod: never,
    status: statusWith(never, { name: 'c1', state: 'unknown' }),
    expected: { ...nothing, kill: ['c1:Unknown'], start: [1] },
  },
  {
    rule: 'two ready sandboxes are replaced by one',
    pod: always,
    status: makeStatus(always, allRunning, [
      makeSandbox({ id: 'b', attempt: 1 }),
      makeSandbox({ id: 'a', attempt: 0 }),
    ]),
    expected: { ...replaced, attempt: 2 },
  },
  {
    rule: 'a pod being deleted restarts nothing',
    pod: makePod({}, { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    status: statusWith(always, exited('c0', 1)),
    expected: nothing,
  },
];

const withPolicies = (pod: string, c0: string, extra: Partial<Container> = {}) =>
  makePod({
    restartPolicy: pod,
    containers: [
      container('c0', { restartPolicy: c0, ...extra }),
      container('c1', { restartPolicy: c0, ...extra }),
      container('c2'),
    ],
  });
const twoExits = [exited('c0', 0), exited('c1', 111), running('c2')];
const in42: Partial<Container> = {
  restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }],
};
const policyRows: Row[] = [
  {
    rule: 'the container policy Always replaces the pod policy Never',
    pod: withPolicies('Never', 'Always'),
    status: makeStatus(always, twoExits),
    expected: { ...nothing, start: [0, 1] },
  },
  {
    rule: 'the container policy OnFailure replaces the pod policy Never',
    pod: withPolicies('Never', 'OnFailure'),
    status: makeStatus(always, twoExits),
    expected: { ...nothing, start: [1] },
  },
  {
    rule: 'the container policy Never replaces the pod policy Always',
    pod: withPolicies('Always', 'Never'),
    status: makeStatus(always, twoExits),
    expected: nothing,
  },
  {
    rule: 'a matching rule restarts under Never, any other code does not',
    pod: withPolicies('Never', 'Never', in42),
    status: makeStatus(always, [exited('c0', 42), exited('c1', 1), running('c2')]),
    expected: { ...nothing, start: [0] },
  },
  {
    rule: 'a failed probe obeys the container policy but not its rules',
    pod: withPolicies('Always', 'Never', {
      restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'NotIn', values: [0] } }],
    }),
    status: makeStatus(always, allRunning),
    liveness: { 'id-c0': 'failure' },
    expected: { ...nothing, kill: ['c0:LivenessProbe'] },
  },
];

const inits = [container('i0'), container('i1'), container('i2')];
const initPod = (restartPolicy: string, initContainers = inits) => makePod({ restartPolicy, initContainers });
const initDone = [exited('i2'), exited('i1'), exited('i0')];
const lastInit = (last: Instance) => makeStatus(initPod('Always'), [last, exited('i1'), exited('i0')]);

const initRows: Row[] = [
  {
    rule: 'all init containers succeeded',
    pod: initPod('Always'),
    status: makeStatus(initPod('Always'), initDone),
    expected: { ...nothing, start: [0, 1, 2] },
  },
  {
    rule: 'the first init container comes first',
    pod: initPod('Always'),
    status: makeStatus(initPod('Always'), []),
    expected: { ...nothing, init: [0] },
  },
  {
    rule: 'the next init container follows one that succeeded',
    pod: initPod('Always'),
    status: makeStatus(initPod('Always'), [exited('i0')]),
    expected: { ...nothing, init: [1] },
  },
  {
    rule: 'the pod waits for a running init container',
    pod: initPod('Always'),
    status: lastInit(running('i2')),
    expected: nothing,
  },
  {
    rule: 'a failed init container is retried with Always',
    pod: initPod('Always'),
    status: lastInit(exited('i2', 137)),
    expected: { ...nothing, init: [2] },
  },
  {
    rule: 'a failed init container is retried with OnFailure',
    pod: initPod('OnFailure'),
    status: lastInit(exited('i2', 137)),
    expected: { ...nothing, init: [2] },
  },
  {
    rule: 'a failed init container ends the pod with Never',
    pod: initPod('Never'),
    status: lastInit(exited('i2', 137)),
    expected: { ...nothing, killPod: true },
  },
  {
    rule: 'an OOM-killed init container with code 0 under OnFailure ends the pod',
    pod: initPod('OnFailure'),
    status: lastInit(exited('i2', 0, { reason: 'OOMKilled' })),
    expected: { ...nothing, killPod: true },
  },
  {
    rule: 'an init container in unknown state is killed and started',
    pod: initPod('Always'),
    status: lastInit({ name: 'i2', state: 'unknown' }),
    expected: { ...nothing, kill: ['i2:Unknown'], init: [2] },
  },
  {
    rule: 'an init container in unknown state ends the pod with Never',
    pod: initPod('Never'),
    status: lastInit({ name: 'i2', state: 'unknown' }),
    expected: { ...nothing, killPod: true },
  },
  {
    rule: 'a new sandbox initializes again',
    pod: initPod('Always'),
    status: makeStatus(initPod('Always'), initDone, notReady()),
    expected: { ...nothing, killPod: true, createSandbox: true, attempt: 1, init: [0] },
  },
  {
    rule: 'a new sandbox does not initialize again with Never',
    pod: initPod('Never'),
    status: makeStatus(initPod('Never'), initDone, notReady()),
    expected: { ...nothing, killPod: true, attempt: 1 },
  },
  {
    rule: 'a new sandbox initializes with Never while no container was created',
    pod: initPod('Never'),
    status: makeStatus(initPod('Never'), [], notReady()),
    expected: { ...nothing, killPod: true, createSandbox: true, attempt: 1, init: [0] },
  },
  {
    rule: 'removed instances of early init containers do not matter',
    pod: initPod('Always'),
    status: makeStatus(initPod('Always'), [running('i2')]),
    expected: nothing,
  },
  {
    rule: 'a created init container is started',
    pod: initPod('Always'),
    status: lastInit({ name: 'i2', state: 'created' }),
    expected: { ...nothing, init: [2] },
  },
  {
    rule: 'a running regular container proves that the pod is initialized',
    pod: initPod('Always'),
    status: makeStatus(initPod('Always'), allRunning),
    expected: nothing,
  },
  {
    rule: 'an exited regular container of the current sandbox proves it, too',
    pod: initPod('Always'),
    status: makeStatus(initPod('Always'), [exited('c0', 1), running('c1'), running('c2')]),
    expected: { ...nothing, start: [0] },
  },
  {
    rule: 'containers of an old sandbox, even running ones, prove nothing about a new one',
    pod: initPod('Always'),
    status: {
      ...makeStatus(initPod('Always'), [...allRunning, ...initDone], [makeSandbox({ attempt: 1 })]),
      activeContainers: [],
    },
    expected: { ...nothing, attempt: 1, init: [0] },
  },
];

const probe = { periodSeconds: 1 };
const sidecars = [
  container('s0', { restartPolicy: 'Always' }),
  container('s1', { restartPolicy: 'Always', startupProbe: probe, livenessProbe: probe }),
  container('s2', { restartPolicy: 'Always', startupProbe: probe, livenessProbe: probe }),
];
const sidecarPod = (restartPolicy = 'Always') => initPod(restartPolicy, sidecars);
const healthy = { 'id-s1': 'success', 'id-s2': 'success' } as const;
const s = (...instances: Instance[]) => makeStatus(sidecarPod(), instances);
const all = [running('s0'), running('s1'), running('s2')];

const sidecarCases: Row[] = [
  {
    rule: 'all sidecars started',
    pod: sidecarPod(),
    status: s(...all),
    expected: { ...nothing, start: [0, 1, 2] },
  },
  {
    rule: 'a removed sidecar is started again beside running containers, a removed plain init container is not',
    pod: initPod('Always', [container('i0'), container('s0', { restartPolicy: 'Always' })]),
    status: makeStatus(initPod('Always'), allRunning),
    expected: { ...nothing, init: [1] },
  },
  {
    rule: 'the next sidecar follows one that started',
    pod: sidecarPod(),
    status: s(running('s0')),
    expected: { ...nothing, init: [1] },
  },
  {
    rule: 'the pod waits for a startup probe without a result',
    pod: sidecarPod(),
    status: s(running('s0'), running('s1')),
    startup: {},
    expected: nothing,
  },
  {
    rule: 'the pod waits for a startup probe with an unknown result',
    pod: sidecarPod(),
    status: s(running('s0'), running('s1')),
    startup: { 'id-s1': 'unknown' },
    expected: nothing,
  },
  {
    rule: 'the pod does not wait for a liveness probe without a result',
    pod: sidecarPod(),
    status: s(running('s0'), running('s1')),
    liveness: {},
    expected: { ...nothing, init: [2] },
  },
  {
    rule: 'a failed liveness probe restarts the sidecar beside the regular containers',
    pod: sidecarPod(),
    status: s(...all),
    liveness: { ...healthy, 'id-s2': 'failure' },
    expected: { ...nothing, kill: ['s2:LivenessProbe'], init: [2], start: [0, 1, 2] },
  },
  {
    rule: 'a failed startup probe delays the regular containers',
    pod: sidecarPod(),
    status: s(...all),
    startup: { ...healthy, 'id-s2': 'failure' },
    expected: { ...nothing, kill: ['s2:StartupProbe'], init: [2] },
  },
  {
    rule: 'another image restarts the sidecar',
    pod: sidecarPod(),
    status: s(running('s0'), running('s1'), running('s2', { hash: 'deadbeef' })),
    expected: { ...nothing, kill: ['s2:'], init: [2], start: [0, 1, 2] },
  },
  {
    rule: 'exited sidecars are restarted, the last one first',
    pod: sidecarPod(),
    status: s(exited('s0'), running('s1'), exited('s2')),
    expected: { ...nothing, init: [0, 2] },
  },
  {
    rule: 'an exited early sidecar delays no other container',
    pod: sidecarPod(),
    status: s(exited('s0'), running('s1'), running('s2')),
    expected: { ...nothing, init: [0], start: [0, 1, 2] },
  },
  {
    rule: 'sidecars are restarted with any pod policy',
    pod: sidecarPod('Never'),
    status: s(running('s0'), running('s1'), exited('s2', 137)),
    expected: { ...nothing, init: [2] },
  },
  {
    rule: 'sidecars do not keep an ended pod alive',
    pod: sidecarPod('Never'),
    status: s(...all, ...allSucceeded),
    expected: { ...nothing, killPod: true },
  },
  {
    rule: 'sidecars are not restarted in an ended pod',
    pod: sidecarPod('Never'),
    status: s(exited('s0'), running('s1'), running('s2'), ...allSucceeded),
    expected: { ...nothing, killPod: true },
  },
  {
    rule: 'removed sidecars are started again',
    pod: sidecarPod(),
    status: s(running('s2')),
    expected: { ...nothing, init: [0, 1], start: [0, 1, 2] },
  },
];
const sidecarRows = sidecarCases.map((row) => ({ liveness: healthy, startup: healthy, ...row }));

const debugged = (pod: Pod): Pod => ({
  ...pod,
  spec: { ...pod.spec, ephemeralContainers: [container('e0')] },
});
const ephemeralRows: Row[] = [
  {
    rule: 'an ephemeral container starts while init runs',
    pod: debugged(initPod('Always')),
    status: lastInit(running('i2')),
    expected: { ...nothing, ephemeral: [0] },
  },
  ...(['exited', 'unknown', 'created'] as const).map((state) => ({
    rule: `an ephemeral container that is ${state} is never started again`,
    pod: debugged(always),
    status: statusWith(always, { name: 'e0', state }),
    expected: nothing,
  })),
  {
    rule: 'a running ephemeral container does not keep an ended pod alive',
    pod: debugged(never),
    status: makeStatus(never, [running('e0'), ...allSucceeded]),
    expected: { ...nothing, killPod: true },
  },
  {
    rule: 'a new sandbox starts no ephemeral container',
    pod: debugged(always),
    status: makeStatus(always, [], []),
    expected: { ...replaced, attempt: 0 },
  },
];

const restartAllRule: Partial<Container> = {
  restartPolicy: 'Never',
  restartPolicyRules: [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [1] } }],
};
const resetPod = makePod({
  initContainers: sidecars,
  containers: [container('c0'), container('c1'), container('c2', restartAllRule)],
});
const resetRows: Row[] = [
  {
    rule: 'the container that requested the restart is last; older instances are included',
    pod: resetPod,
    restartingAll: true,
    status: makeStatus(resetPod, [
      exited('c2', 1),
      running('s2'),
      running('s1'),
      running('s0'),
      running('c1'),
      running('c0'),
      exited('c1', 5, { id: 'old-c1' }),
      exited('c2', 7, { id: 'old-c2' }),
    ]),
    expected: {
      ...nothing,
      reset: [
        'id-c0:kill',
        'id-c1:kill',
        'old-c1',
        'old-c2',
        'id-s0:kill',
        'id-s1:kill',
        'id-s2:kill',
        'id-c2',
      ],
    },
  },
  {
    rule: 'without instances the pod initializes again',
    pod: resetPod,
    status: makeStatus(resetPod, []),
    expected: { ...nothing, init: [0] },
  },
  {
    rule: 'replacing the sandbox takes precedence over the reset',
    pod: resetPod,
    restartingAll: true,
    status: makeStatus(resetPod, [exited('c2', 1)], notReady()),
    expected: { ...nothing, killPod: true, createSandbox: true, attempt: 1 },
  },
];

/** A back-off whose first delay of 10 s began when the containers of the pod ended, at `exitMs`. */
function inBackOff(pod: Pod, attemptMs = exitMs): BackOffView {
  const backoff = new Backoff(crashLoopDelays());
  for (const { container: one } of podContainers(pod)) {
    backoff.advance(crashLoopKey(pod, one), attemptMs, attemptMs);
  }
  return backoff;
}
const crashed = (name: string, extra: Partial<Instance> = {}): Instance =>
  exited(name, 1, { finishedAtNs: BigInt(exitMs) * 1_000_000n, ...extra });
const before = { id: 'before' };
const edited = makePod({ containers: [container('c0', { image: 'example/c0:2' })] });
const single = makePod({ containers: [container('c0')] });
const mixedInits = initPod('Always', [container('s0', { restartPolicy: 'Always' }), container('i1')]);

const backOffRows: Row[] = (
  [
    {
      rule: 'a container in back-off waits, the others start',
      pod: always,
      status: makeStatus(always, [crashed('c0'), running('c1')]),
      sinceExitMs: 9_999,
      expected: { ...nothing, waits: ['c0:10s'], start: [2] },
    },
    {
      rule: 'it starts when the back-off is over',
      pod: always,
      status: statusWith(always, crashed('c0')),
      sinceExitMs: 10_000,
      expected: { ...nothing, start: [0] },
    },
    {
      rule: 'it starts at once after a run of more than ten minutes',
      pod: always,
      status: statusWith(always, crashed('c0')),
      backOff: inBackOff(always, exitMs - 600_001),
      expected: { ...nothing, start: [0] },
    },
    {
      rule: 'it waits after a run of ten minutes',
      pod: always,
      status: statusWith(always, crashed('c0')),
      backOff: inBackOff(always, exitMs - 600_000),
      expected: { ...nothing, waits: ['c0:10s'] },
    },
    {
      rule: 'a container that was not restarted before does not wait',
      pod: always,
      status: statusWith(always, crashed('c0')),
      backOff: new Backoff(crashLoopDelays()),
      expected: { ...nothing, start: [0] },
    },
    {
      rule: 'a first start never waits',
      pod: always,
      status: makeStatus(always, [{ name: 'c0', state: 'created' }, running('c1')]),
      expected: { ...nothing, start: [0, 2] },
    },
    {
      rule: 'a pod whose only container waits continues',
      pod: single,
      status: makeStatus(single, [crashed('c0')]),
      expected: { ...nothing, waits: ['c0:10s'] },
    },
    {
      rule: 'the newest exit counts',
      pod: single,
      status: makeStatus(single, [crashed('c0'), exited('c0', 1, { ...before, finishedAtNs: 1n })]),
      expected: { ...nothing, waits: ['c0:10s'] },
    },
    {
      rule: 'another image starts at once',
      pod: edited,
      status: makeStatus(single, [crashed('c0')]),
      backOff: inBackOff(single),
      expected: { ...nothing, start: [0] },
    },
    {
      rule: 'another image replaces a running container at once',
      pod: edited,
      status: makeStatus(single, [running('c0'), crashed('c0', before)]),
      backOff: inBackOff(single),
      expected: { ...nothing, kill: ['c0:'], start: [0] },
    },
    {
      rule: 'a container that failed its probe is killed and waits from its previous exit',
      pod: single,
      status: makeStatus(single, [running('c0'), crashed('c0', before)]),
      liveness: { 'id-c0': 'failure' },
      expected: { ...nothing, kill: ['c0:LivenessProbe'], waits: ['c0:10s'] },
    },
    {
      rule: 'a container in unknown state is killed and waits from its previous exit',
      pod: single,
      status: makeStatus(single, [{ name: 'c0', state: 'unknown' }, crashed('c0', before)]),
      expected: { ...nothing, kill: ['c0:Unknown'], waits: ['c0:10s'] },
    },
    {
      rule: 'an init container in back-off delays later init containers and regular ones',
      pod: initPod('Always'),
      status: makeStatus(initPod('Always'), [crashed('i1'), exited('i0')]),
      expected: { ...nothing, waits: ['i1:10s'] },
    },
    {
      rule: 'an init container that succeeded lets the next one start',
      pod: initPod('Always'),
      status: makeStatus(initPod('Always'), [exited('i0')]),
      expected: { ...nothing, init: [1] },
    },
    {
      rule: 'a sidecar in back-off delays no regular container',
      pod: sidecarPod(),
      status: s(crashed('s0'), running('s1'), running('s2')),
      expected: { ...nothing, waits: ['s0:10s'], start: [0, 1, 2] },
    },
    {
      rule: 'a sidecar in back-off delays no init container that is restarted',
      pod: mixedInits,
      status: makeStatus(mixedInits, [{ name: 'i1', state: 'created' }, crashed('s0')]),
      expected: { ...nothing, waits: ['s0:10s'], init: [1] },
    },
    {
      rule: 'the last sidecar in back-off delays the regular containers until it runs again',
      pod: sidecarPod(),
      status: s(running('s0'), running('s1'), crashed('s2')),
      expected: { ...nothing, waits: ['s2:10s'] },
    },
    {
      rule: 'in a new sandbox, a container that ran starts at once and one that had ended waits',
      pod: always,
      status: makeStatus(
        always,
        [running('c0'), crashed('c0', before), crashed('c1'), running('c2')],
        notReady(),
      ),
      expected: { ...replaced, start: [0, 2], waits: ['c1:10s'] },
    },
    {
      rule: 'in a new sandbox, an init container that had ended waits',
      pod: initPod('Always'),
      status: makeStatus(initPod('Always'), [crashed('i0')], notReady()),
      expected: { ...nothing, killPod: true, createSandbox: true, attempt: 1, waits: ['i0:10s'] },
    },
    {
      rule: 'a container that is not started again does not wait',
      pod: never,
      status: statusWith(never, crashed('c0')),
      expected: nothing,
    },
    {
      rule: 'a pod being deleted does not wait',
      pod: makePod({}, { deletionTimestamp: '2026-01-01T00:00:00Z' }),
      status: statusWith(always, crashed('c0')),
      expected: nothing,
    },
  ] satisfies Row[]
).map((row: Row) => ({ liveness: healthy, startup: healthy, backOff: inBackOff(row.pod), ...row }));

describe.each([
  ['regular containers', regularRows],
  ['container policies and rules', policyRows],
  ['init containers', initRows],
  ['sidecars', sidecarRows],
  ['ephemeral containers', ephemeralRows],
  ['restarting all containers', resetRows],
  ['back-off', backOffRows],
])('planPod: %s', (_, rows) => {
  it.each(rows)('$rule', (row) => {
    expect(summarise(row)).toEqual(row.expected);
  });
});

describe('planPod: texts', () => {
  const silent: ProbeVerdicts = { liveness: () => undefined, startup: () => undefined };
  const messages = (pod: Pod, status: ObservedPodStatus, probes: Partial<ProbeVerdicts> = {}) =>
    [
      ...planPod({
        pod,
        status,
        nowMs: exitMs,
        backOff: nobodyWaits,
        probes: { ...silent, ...probes },
        restartingAllContainers: false,
      }).containersToKill.values(),
    ].map(({ message }) => message);
  const failing = () => 'failure' as const;

  it.each([
    [
      'changed definition',
      messages(always, statusWith(always, running('c1', { hash: 'x' }))),
      'Container c1 definition changed, will be restarted',
    ],
    [
      'failed liveness, restarted',
      messages(always, makeStatus(always, [running('c0')]), { liveness: failing }),
      'Container c0 failed liveness probe, will be restarted',
    ],
    [
      'failed startup, not restarted',
      messages(never, statusWith(never), { startup: (id) => (id === 'id-c1' ? 'failure' : undefined) }),
      'Container c1 failed startup probe',
    ],
    [
      'unknown state',
      messages(always, statusWith(always, { name: 'c1', state: 'unknown' })),
      'Container is in "unknown" state, try killing it before restart',
    ],
    [
      'sidecar failed startup',
      messages(sidecarPod(), s(running('s1')), { startup: failing }),
      'Init container s1 failed startup probe',
    ],
    [
      'sidecar failed liveness',
      messages(sidecarPod(), s(running('s1')), { startup: () => 'success', liveness: failing }),
      'Init container s1 failed liveness probe',
    ],
    [
      'sidecar definition changed',
      messages(sidecarPod(), s(running('s0', { hash: 'x' }))),
      'Init container s0 definition changed',
    ],
    [
      'unknown init container',
      messages(sidecarPod(), s({ name: 's0', state: 'unknown' })),
      'Init container is in "unknown" state, try killing it before restart',
    ],
  ])('kill message: %s', (_, actual, expected) => {
    expect(actual).toEqual([expected]);
  });

  it('every start has its cause', () => {
    const plan = planPod({
      pod: always,
      status: statusWith(always, exited('c1', 1)),
      nowMs: exitMs,
      backOff: nobodyWaits,
      probes: silent,
      restartingAllContainers: false,
    });
    const cause = { reason: 'Exited', exitCode: 1, restartPolicy: 'Always', policyOwner: 'pod' };
    expect(plan.containersToStart).toEqual([
      { index: 1, name: 'c1', cause, because: 'exited 1, policy Always' },
    ]);
    expect(plan.stoppedContainers).toEqual(['id-c1']);
    expect(sidecars.every(isSidecar)).toBe(true);
  });

  it('a wait has its end and its cause', () => {
    const plan = planPod({
      pod: always,
      status: makeStatus(always, [crashed('c1'), running('c0')]),
      nowMs: exitMs + 1,
      backOff: inBackOff(always),
      probes: silent,
      restartingAllContainers: false,
    });
    const message = 'back-off 10s restarting failed container=c1 pod=web_shop(uid-1)';
    const cause = { reason: 'Exited', exitCode: 1, restartPolicy: 'Always', policyOwner: 'pod' };
    expect(plan.waiting).toEqual([
      {
        kind: 'container',
        index: 1,
        name: 'c1',
        cause,
        because: 'exited 1, policy Always',
        untilMs: exitMs + 10_000,
        message,
      },
    ]);
    expect(planEntry(plan)).toEqual({
      message: 'start container c2; container c1 waits',
      because: `it has not run yet; ${message}`,
      data: {
        sandbox: 'keep',
        attempt: 0,
        steps: [
          { action: 'startContainer', container: 'c2', containerType: 'container', reason: 'NotRunYet' },
          {
            action: 'waitForBackOff',
            container: 'c1',
            containerType: 'container',
            untilMs: exitMs + 10_000,
            ...cause,
          },
        ],
        more: 0,
      },
    });
  });
});

describe('a pod is stranded', () => {
  const created: Instance = { name: 'c0', state: 'created' };
  it.each([
    ['when its sandbox is gone before its container started', never, [created], notReady(1), false, true],
    ['not while a container runs on', never, [running('c0')], notReady(1), false, false],
    ['not while its sandbox is ready', never, [created], [makeSandbox({})], false, false],
    ['not before its first container', never, [], notReady(1), false, false],
    ['not when it gets another sandbox', onFailure, [created], notReady(1), false, false],
    ['not when all of its containers are restarted', never, [created], notReady(1), true, false],
  ] as const)('%s', (_, pod, instances, sandboxes, restartingAllContainers, expected) => {
    const status = makeStatus(pod, [...instances], [...sandboxes]);
    expect(isStranded({ pod, status, restartingAllContainers })).toBe(expected);
  });
});
