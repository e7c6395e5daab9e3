/** Pods with ResourceClaims in a whole kubelet: drivers come late, hang, die; kubelets die at every call. */
import { afterEach, describe, expect, it } from 'vitest';
import type { Timer } from '../../src/async/index.js';
import { GrpcError } from '../../src/grpc/index.js';
import type { SimulatedDriver } from '../../src/resources/dra/index.js';
import { DraMachine, type DraNode, podWithClaims } from './dra-world.js';
import { endNodes, minute, second } from './node.js';
import { apiPod } from './pods.js';
import { seededRandom } from './seeded-random.js';

afterEach(endNodes);

const operations = (driver: SimulatedDriver): string[] => driver.calls.map(({ operation }) => operation);

describe('a pod with a claim', () => {
  it('has it prepared before its sandbox, runs with its devices, and gives it back', async () => {
    const world = new DraMachine();
    const driver = await world.driver('gpu');
    const uid = await world.claim('c', ['gpu'], ['p']);
    const kubelet = await world.start();
    kubelet.node.set([podWithClaims('p', ['c'])]);
    await kubelet.node.untilReady('p');
    expect(operations(driver)).toEqual(['prepare']);
    expect(world.machine.usersOfDevice(`gpu/test=${uid}`)).toEqual(['p/app']);
    const { entries } = kubelet.node;
    const prepared = entries.findIndex(({ what }) => what === 'dra.prepare');
    const sandbox = entries.findIndex(({ what }) => what === 'sandbox.create');
    expect(prepared).toBeGreaterThan(-1);
    expect(prepared).toBeLessThan(sandbox);
    await kubelet.end('p');
    await kubelet.untilNothingIsPrepared();
    expect(operations(driver)).toEqual(['prepare', 'unprepare']);
  });

  it('waits for a driver that is not there, and starts when it comes', async () => {
    const world = new DraMachine();
    await world.claim('c', ['gpu'], ['p']);
    const kubelet = await world.start();
    kubelet.node.set([podWithClaims('p', ['c'])]);
    await kubelet.node.advance(20 * second);
    const event = kubelet.node
      .events('p')
      .find(({ event: told }) => told?.reason === 'FailedPrepareDynamicResources');
    expect(event?.message).toBe(
      'Failed to prepare dynamic resources: prepare dynamic resources: DRA driver gpu is not registered',
    );
    expect(world.machine.seenSandboxes('p')).toEqual([]);
    await world.driver('gpu');
    await kubelet.node.untilReady('p', 15 * second);
  });

  it('without its driver is tried again with the ordinary resync only', async () => {
    const world = new DraMachine();
    await world.claim('c', ['gpu'], ['p']);
    const kubelet = await world.start();
    kubelet.node.set([podWithClaims('p', ['c'])]);
    await kubelet.node.advance(50 * second);
    const tries = (): number =>
      kubelet.node.reasons('p').filter((reason) => reason === 'FailedPrepareDynamicResources').length;
    expect(tries()).toBe(1);
    await kubelet.node.advance(60 * second);
    expect(tries()).toBe(2);
  });

  it('of a driver that hangs delays no other pod', async () => {
    const world = new DraMachine();
    const slow = await world.driver('slow');
    slow.behave = () => ({ kind: 'hang' });
    const names = Array.from({ length: 40 }, (_, index) => `s${index}`);
    await world.claim('c', ['slow'], names);
    const kubelet = await world.start();
    kubelet.node.set([...names.map((name) => podWithClaims(name, ['c'])), apiPod('other')]);
    await kubelet.node.untilReady('other', 20 * second);
  });

  it('that lost its sandbox gets another one without a call of the driver', async () => {
    const world = new DraMachine();
    const driver = await world.driver('gpu');
    const uid = await world.claim('c', ['gpu'], ['p']);
    const kubelet = await world.start();
    kubelet.node.set([podWithClaims('p', ['c'], { spec: { restartPolicy: 'Always' } })]);
    await kubelet.node.untilReady('p');
    const [old] = world.machine.ready('p');
    world.machine.killSandbox(old!.id);
    await kubelet.node.until('another sandbox is there', () => {
      const [sandbox] = world.machine.ready('p');
      return sandbox !== undefined && sandbox.id !== old!.id;
    });
    await kubelet.node.untilReady('p');
    await kubelet.node.advance(5 * second);
    expect(world.machine.usersOfDevice(`gpu/test=${uid}`)).toEqual(['p/app']);
    expect(operations(driver)).toEqual(['prepare']);
  });

  it('stays terminating while unprepare fails', async () => {
    const world = new DraMachine();
    const driver = await world.driver('gpu');
    await world.claim('c', ['gpu'], ['p']);
    const kubelet = await world.start();
    kubelet.node.set([podWithClaims('p', ['c'])]);
    await kubelet.node.untilReady('p');
    let failures = 2;
    driver.behave = () =>
      failures-- > 0 ? { kind: 'fail', error: new GrpcError('Internal', 'busy') } : { kind: 'done' };
    kubelet.node.delete('p', 1);
    await kubelet.node.advance(8 * second);
    expect(kubelet.node.status('p')?.phase).toBe('Running');
    await kubelet.node.advance(60 * second);
    expect(kubelet.node.status('p')?.phase).not.toBe('Running');
    expect(operations(driver)).toEqual(['prepare', 'unprepare', 'unprepare', 'unprepare']);
  });

  it('has its container restarted after a restart of the kubelet without a call of the driver', async () => {
    const world = new DraMachine();
    const driver = await world.driver('gpu');
    const uid = await world.claim('c', ['gpu'], ['p']);
    const first = await world.start();
    const pod = podWithClaims('p', ['c'], { spec: { restartPolicy: 'Always' } });
    first.node.set([pod]);
    await first.node.untilReady('p');
    await first.crash();
    driver.die();
    const second_ = await world.start();
    second_.node.set([pod]);
    await second_.node.advance(5 * second);
    const [container] = world.machine.seenContainers('p');
    if (container !== undefined) world.machine.exitContainer(container.id, 1);
    await second_.node.advance(30 * second);
    expect(world.machine.usersOfDevice(`gpu/test=${uid}`)).toEqual(['p/app']);
    expect(operations(driver)).toEqual(['prepare']);
  });
});

/** One claim that two pods share, one of two drivers, and the end of all. */
async function life(kubelet: DraNode): Promise<void> {
  const pods = [podWithClaims('a', ['shared', 'both']), podWithClaims('b', ['shared'])];
  kubelet.node.set(pods);
  await kubelet.node.untilReady('a', 10 * minute);
  await kubelet.node.untilReady('b', 10 * minute);
  await kubelet.end('a');
  await kubelet.end('b');
  await kubelet.untilNothingIsPrepared();
}

async function preparedWorld(): Promise<DraMachine> {
  const world = new DraMachine();
  await world.driver('one');
  await world.driver('two');
  await world.claim('shared', ['one'], ['a', 'b']);
  await world.claim('both', ['one', 'two'], ['a']);
  return world;
}

describe('crashes', () => {
  const cuts = [1, 2, 3, 4, 5, 6, 7].flatMap((call) =>
    [true, false].map((withEffect): [string, number, boolean] => [
      `${call}${withEffect ? ', which has its effect' : ''}`,
      call,
      withEffect,
    ]),
  );

  it.each(cuts)(
    'of the kubelet at call %s: pods run in the end and nothing leaks',
    async (_name, call, withEffect) => {
      const world = await preparedWorld();
      const first = await world.start({ call, withEffect });
      await life(first).catch((error: unknown) => {
        if (!first.hasDied) throw error;
      });
      if (!first.hasDied) return;
      await first.crash();
      const next = await world.start();
      await life(next);
    },
  );

  it.each(cuts)(
    'of the kubelet at call %s, and the pods are gone when it is back',
    async (_name, call, withEffect) => {
      const world = await preparedWorld();
      const first = await world.start({ call, withEffect });
      await life(first).catch((error: unknown) => {
        if (!first.hasDied) throw error;
      });
      if (!first.hasDied) return;
      await first.crash();
      const next = await world.start();
      next.node.set([]);
      await next.untilNothingIsPrepared();
    },
  );

  it.each(cuts)(
    'of a driver at call %s: pods run in the end and nothing leaks',
    async (_name, call, withEffect) => {
      const world = await preparedWorld();
      const revivals: Timer[] = [];
      let calls = 0;
      for (const driver of world.drivers.values()) {
        driver.behave = () => {
          if (++calls !== call) return { kind: 'done' };
          revivals.push(world.machine.time.setTimer(20 * second, () => void world.revive(driver)));
          return { kind: 'die', withEffect };
        };
      }
      await life(await world.start());
      for (const timer of revivals) timer.cancel();
    },
  );
});

describe('random lives', () => {
  it.each(Array.from({ length: 10 }, (_, index) => index + 1))(
    'nothing prepared leaks, and nobody loses what it uses: seed %d',
    async (seed) => {
      const random = seededRandom(seed);
      const pick = (count: number): number => Math.floor(random() * count);
      const world = new DraMachine();
      const drivers = [await world.driver('d0'), await world.driver('d1'), await world.driver('d2')];
      const names = ['p0', 'p1', 'p2', 'p3', 'p4'];
      for (let claim = 0; claim < 4; claim++) {
        const used = drivers.filter(() => random() < 0.5).map(({ name }) => name);
        await world.claim(`c${claim}`, used.length === 0 ? ['d0'] : used, names);
      }
      const revivals: Timer[] = [];
      const moody = (): void => {
        for (const driver of drivers) {
          driver.behave = () => {
            const mood = random();
            const withEffect = random() < 0.5;
            if (mood < 0.75) return { kind: 'done' };
            if (mood < 0.85) return { kind: 'hang', withEffect };
            if (mood < 0.95) return { kind: 'fail', error: new GrpcError('Internal', 'moody'), withEffect };
            revivals.push(
              world.machine.time.setTimer(pick(60) * second + 1, () => void world.revive(driver)),
            );
            return { kind: 'die', withEffect };
          };
        }
      };
      moody();
      let kubelet = await world.start();
      const wanted = new Map<string, ReturnType<typeof podWithClaims>>();
      kubelet.node.set([]);
      for (let step = 0; step < 40; step++) {
        const name = names[pick(names.length)] ?? 'p0';
        const action = random();
        if (action < 0.4 && !wanted.has(name)) {
          wanted.set(name, podWithClaims(name, [`c${pick(4)}`]));
          kubelet.node.set([...wanted.values()]);
        } else if (action < 0.7 && wanted.has(name)) {
          wanted.delete(name);
          kubelet.node.set([...wanted.values()]);
        } else if (action < 0.8) {
          await kubelet.crash();
          kubelet = await world.start();
          kubelet.node.set([...wanted.values()]);
        }
        await kubelet.node.advance(pick(40) * second);
        expect(world.violations).toEqual([]);
      }
      for (const driver of drivers) {
        driver.behave = () => ({ kind: 'done' });
        if (!driver.isListening) await world.revive(driver);
      }
      for (const timer of revivals) timer.cancel();
      kubelet.node.set([]);
      await kubelet.untilNothingIsPrepared(20 * minute);
    },
  );
});
