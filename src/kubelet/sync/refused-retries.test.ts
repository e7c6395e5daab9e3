import { expect, it } from 'vitest';
import { Gate, settle, TaskGroup, VirtualClock } from '../../async/index.js';
import { configSourceAnnotation, type Pod, type PodStatus } from '../../kube/index.js';
import { beginTermination, type PodState } from '../../pods/workers/pod-state.js';
import { Timeline } from '../../timeline/index.js';
import { RefusedStaticPods } from '../admission/refused-static-pods.js';
import { RefusedRetries } from './refused-retries.js';

const uid = 'web';
const pod: Pod = {
  metadata: { uid, name: uid, namespace: 'default', annotations: { [configSourceAnnotation]: 'file' } },
  spec: { containers: [] },
};

function start() {
  const clock = new VirtualClock();
  const world: { worker: PodState | undefined; status: PodStatus | undefined; settled: number } = {
    worker: undefined,
    status: { phase: 'Failed' },
    settled: 0,
  };
  const refusals = new RefusedStaticPods({
    clock,
    isConfigured: () => true,
    node: () => undefined,
    used: () => new Map(),
  });
  const retries = new RefusedRetries({
    clock,
    timeline: new Timeline({ clock }),
    pods: { byUid: () => pod },
    workers: {
      stateOf: () => world.worker,
      update: () => {},
    },
    statuses: {
      get: () => world.status,
      remove: () => {
        world.status = undefined;
      },
    },
    admission: { recall: (asked) => asked, admitNew: () => ({ admit: true }) },
    refusals,
    handlers: {
      isRefused: () => world.worker === undefined && world.status?.phase === 'Failed',
      settle: () => {
        world.settled++;
        refusals.admitted(uid);
      },
    },
    active: () => [],
    turns: new Gate(1),
    tasks: new TaskGroup({
      onError: (_, error) => {
        throw error;
      },
    }),
  });
  const look = async (): Promise<void> => {
    refusals.roomAppeared();
    await clock.advance(10_000);
    retries.run();
    await settle();
  };
  refusals.refused(pod, 'OutOfcpu');
  return { world, look };
}

it('a pod whose worker still ends what it left is judged when the worker has gone', async () => {
  const { world, look } = start();
  world.worker = beginTermination({ kind: 'waiting' }, {}, 0);
  await look();
  expect(world.settled).toBe(0);
  world.worker = undefined;
  await look();
  expect(world.settled).toBe(1);
});

it('a pod that goes on is never judged again', async () => {
  const { world, look } = start();
  world.worker = { kind: 'syncing', startedAtMs: 0 };
  world.status = { phase: 'Running' };
  await look();
  world.worker = undefined;
  world.status = { phase: 'Failed' };
  await look();
  expect(world.settled).toBe(0);
});
