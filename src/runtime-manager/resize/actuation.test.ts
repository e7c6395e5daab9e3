import { describe, expect, it } from 'vitest';
import { CriError } from '../../cri/index.js';
import { amountsOf } from './decide-resize.js';
import { mebi, type ResizeWorld, sized, worldOf } from './test-world.js';

const memory = (from: string, to: string, wantedMebi: number): ResizeWorld => ({
  wanted: { c: sized('1', to) },
  told: { c: sized('1', from) },
  bounds: { memoryLimitBytes: Number.parseInt(from, 10) * mebi },
  wantedBounds: {
    cpuShares: 1024,
    quotaMicros: 100_000,
    periodMicros: 100_000,
    memoryLimitBytes: wantedMebi * mebi,
  },
});

const unresized = {
  cpuShares: 1024,
  quotaMicros: 100_000,
  periodMicros: 100_000,
  memoryLimitBytes: 100 * mebi,
};

const noted = (kind: string) => (calls: string[]) => ({
  moved: async () => void calls.push(kind),
});

describe('what pods of a class share', () => {
  const world = (to: string, quotaMicros: number): ResizeWorld => ({
    wanted: { c: sized(to, '100Mi') },
    told: { c: sized('1', '100Mi') },
    wantedBounds: { cpuShares: quotaMicros / 100, quotaMicros, periodMicros: 100_000 },
    cgroup: noted('class'),
  });

  it.each([
    ['more', '2', 200_000],
    ['less', '500m', 50_000],
  ])('follows %s CPU once, after the container', async (_, to, quotaMicros) => {
    const { calls, sync } = worldOf(world(to, quotaMicros));
    expect((await sync()).failure).toBeUndefined();
    const order = calls.filter((call) => !call.startsWith('sandbox')).map((call) => call.split(/[ =]/)[0]);
    expect(order.filter((what) => what === 'class')).toHaveLength(1);
    expect(order.indexOf('class')).toBeGreaterThan(order.lastIndexOf('c'));
    expect(order.indexOf('class')).toBeGreaterThan(order.lastIndexOf('pod'));
  });

  it('follows a resize that failed half way, too', async () => {
    const refusal = () => Promise.reject(new CriError('Internal', 'no'));
    const { calls, sync } = worldOf({
      ...world('2', 200_000),
      cri: () => ({ updateContainerResources: refusal }),
    });
    expect((await sync()).failure).toContain('no');
    expect(calls.filter((call) => call === 'class')).toHaveLength(1);
  });

  it('is left alone where no bound moves', async () => {
    const { calls, sync } = worldOf({ ...world('2', 200_000), wantedBounds: {} });
    expect((await sync()).failure).toBeUndefined();
    expect(calls).not.toContain('class');
  });
});

describe('the steps of a resize', () => {
  it.each<[rule: string, world: ResizeWorld, expected: string[]]>([
    [
      '98: more memory: the sandbox, the pod, then the container',
      memory('100Mi', '200Mi', 200),
      [
        'sandbox shares=1024 quota=100000 memory=200Mi',
        'pod memoryLimitBytes=200Mi',
        'c shares=1024 memory=200Mi',
      ],
    ],
    [
      '99: less memory: the container, the sandbox, then the pod',
      memory('200Mi', '100Mi', 100),
      [
        'c shares=1024 memory=100Mi',
        'sandbox shares=1024 quota=100000 memory=100Mi',
        'pod memoryLimitBytes=100Mi',
      ],
    ],
    [
      '102: the container that shrinks comes first',
      {
        wanted: { a: sized('2', '1Mi'), b: sized('1', '1Mi') },
        told: { a: sized('1', '1Mi'), b: sized('2', '1Mi') },
        wantedBounds: { cpuShares: 1024 },
      },
      ['b shares=1024 memory=1Mi', 'a shares=2048 memory=1Mi'],
    ],
    [
      '103: memory with the old CPU, then CPU with the new memory',
      {
        wanted: { c: sized('2', '200Mi') },
        told: { c: sized('1', '100Mi') },
        wantedBounds: { cpuShares: 2048, quotaMicros: 200_000, memoryLimitBytes: 200 * mebi },
      },
      [
        'sandbox shares=1024 quota=100000 memory=200Mi',
        'pod memoryLimitBytes=200Mi',
        'c shares=1024 memory=200Mi',
        'sandbox shares=1024 quota=200000 memory=200Mi',
        'pod quotaMicros=200000',
        'sandbox shares=2048 quota=200000 memory=200Mi',
        'pod cpuShares=2048',
        'c shares=2048 memory=200Mi',
      ],
    ],
    [
      'less CPU: the container, the shares, then the quota',
      {
        wanted: { c: sized('500m', '100Mi') },
        told: { c: sized('1', '100Mi') },
        wantedBounds: { cpuShares: 512, quotaMicros: 50_000 },
      },
      [
        'c shares=512 memory=100Mi',
        'sandbox shares=512 quota=100000 memory=100Mi',
        'pod cpuShares=512',
        'sandbox shares=512 quota=50000 memory=100Mi',
        'pod quotaMicros=50000',
      ],
    ],
    [
      '110: a pod without a quota of its own',
      {
        wanted: { a: sized('2', '1Mi'), b: {} },
        told: { a: sized('1', '1Mi') },
        bounds: { quotaMicros: -1, memoryLimitBytes: -1 },
        wantedBounds: { cpuShares: 1024 },
      },
      ['a shares=2048 memory=1Mi'],
    ],
    [
      '116: more CPU for the pod level: the pod, then the container without its own limit',
      {
        wanted: { a: { limits: { cpu: '1', memory: '1Gi' } }, b: {} },
        told: { a: { limits: { cpu: '1', memory: '1Gi' } }, b: { limits: { cpu: '2', memory: '2Gi' } } },
        spec: { resources: sized('3', '2Gi') },
        podLevelTold: sized('2', '2Gi'),
        bounds: { cpuShares: 2048, quotaMicros: 200_000, memoryLimitBytes: 2048 * mebi },
        wantedBounds: { cpuShares: 3072, quotaMicros: 300_000, memoryLimitBytes: 2048 * mebi },
      },
      [
        'sandbox shares=2048 quota=300000 memory=2048Mi',
        'pod quotaMicros=300000',
        'sandbox shares=3072 quota=300000 memory=2048Mi',
        'pod cpuShares=3072',
        'b shares=3072 memory=2048Mi',
      ],
    ],
    [
      'the overhead is the sandbox’s own',
      { ...memory('100Mi', '200Mi', 240), spec: { overhead: { cpu: '250m', memory: '40Mi' } } },
      [
        'sandbox shares=768 quota=75000 memory=200Mi',
        'pod memoryLimitBytes=240Mi',
        'c shares=1024 memory=200Mi',
      ],
    ],
  ])('%s', async (_, world, expected) => {
    const { calls, sync } = worldOf(world);
    expect(await sync()).toEqual({ failure: undefined, inProgress: false });
    expect(calls).toEqual([...expected, 'reinspect uid-1']);
    calls.length = 0;
    expect(await sync()).toEqual({ failure: undefined, inProgress: false });
    expect(calls).toEqual([]);
  });

  it('116: the pod level is recorded, one resource after the other', async () => {
    const { sync, actuated } = worldOf({
      wanted: { a: sized('1', '1Mi') },
      told: { a: sized('1', '1Mi') },
      spec: { resources: sized('3', '3Gi') },
      podLevelTold: sized('2', '2Gi'),
      wantedBounds: { quotaMicros: 300_000, memoryLimitBytes: 3072 * mebi },
      cgroup: () => ({
        write: async (_pod, bound) => {
          if (bound === 'quotaMicros') throw new Error('EINVAL');
        },
      }),
    });
    const { failure, inProgress } = await sync();
    expect(failure).toContain('EINVAL');
    expect(inProgress).toBe(true);
    expect(actuated.pod('uid-1')).toEqual(amountsOf(sized('2', '3Gi')));
  });

  it('keeps the huge pages of the container', async () => {
    const pages = { 'hugepages-2Mi': '4Mi' };
    const seen: unknown[] = [];
    const { sync } = worldOf({
      wanted: { c: { requests: { cpu: '2', ...pages }, limits: { cpu: '2', ...pages } } },
      told: { c: { requests: { cpu: '1' }, limits: { cpu: '1' } } },
      wantedBounds: {},
      cri: () => ({
        updateContainerResources: async ({ linux }) => {
          seen.push(linux?.cpuQuota);
          return {};
        },
      }),
    });
    expect((await sync()).failure).toBeUndefined();
    expect(seen).toEqual([200_000]);
  });
});

describe('a resize that fails', () => {
  const below = 'cannot decrease memory limits: ';

  it('100, 101: below the usage writes nothing, and goes on when the usage has fallen', async () => {
    const world = worldOf({ ...memory('200Mi', '100Mi', 100), podUsageMebi: 160, usageMebi: 150 });
    const { calls, clock, usage, sync } = world;
    const failure = `${below}[attempting to set pod memory limit (104857600) below current usage (167772160), attempting to set container "c" memory limit (104857600) below current usage (157286400)]`;
    expect(await sync()).toEqual({ failure, inProgress: true });
    expect(await sync()).toEqual({ failure, inProgress: true });
    expect(calls).toEqual([]);
    Object.assign(usage, { pod: 50, container: 40 });
    await clock.advance(10_000);
    expect(await sync()).toEqual({ failure: undefined, inProgress: false });
    expect(calls.at(-2)).toBe('pod memoryLimitBytes=100Mi');
  });

  it('a change of the pod level alone is not checked', async () => {
    const { calls, sync } = worldOf({
      wanted: { a: sized('1', '1Mi') },
      told: { a: sized('1', '1Mi') },
      spec: { resources: sized('1', '50Mi') },
      podLevelTold: sized('1', '100Mi'),
      wantedBounds: { memoryLimitBytes: 50 * mebi },
      podUsageMebi: 90,
    });
    expect((await sync()).failure).toBeUndefined();
    expect(calls).toContain('pod memoryLimitBytes=50Mi');
  });

  it.each<[rule: string, world: Partial<ResizeWorld>, failure: string]>([
    [
      'a cgroup that cannot be read',
      {
        cgroup: () => ({
          read: () => {
            throw new Error('ENOENT');
          },
        }),
      },
      'unable to get pod cgroup memory config for pod "web_shop(uid-1)"',
    ],
    [
      'a runtime without statistics',
      { cri: () => ({ containerStats: () => Promise.reject(new CriError('Internal', 'no')) }) },
      'unable to read memory usage for pod "web_shop(uid-1)"',
    ],
  ])('%s changes nothing, and the pod is not inspected', async (_, change, failure) => {
    const { calls, sync } = worldOf({ ...memory('200Mi', '100Mi', 100), ...change });
    expect((await sync()).failure).toBe(failure);
    expect(calls).toEqual([]);
  });

  it.each<[code: 'Unimplemented' | 'Unknown' | 'Internal', text: string, failure: string | undefined]>([
    ['Unimplemented', 'no such method', undefined],
    ['Unknown', 'not implemented yet', undefined],
    [
      'Internal',
      'broken',
      'failed to notify runtime for UpdatePodSandboxResources (resource=memory); resize rejected: updatePodSandboxResources failed for sanboxID "sandbox-0": rpc error: code = Internal desc = broken',
    ],
  ])('105: the sandbox answers %s %s', async (code, text, failure) => {
    const refuses = () => Promise.reject(new CriError(code, text));
    const { calls, sync } = worldOf({
      ...memory('100Mi', '200Mi', 200),
      cri: () => ({ updatePodSandboxResources: refuses }),
    });
    expect((await sync()).failure).toBe(failure);
    const written = ['pod memoryLimitBytes=200Mi', 'c shares=1024 memory=200Mi'];
    expect(calls).toEqual([...(failure === undefined ? written : []), 'reinspect uid-1']);
  });

  it('no resize waits for a call that the runtime does not know; it is asked beside the containers', async () => {
    const grown = memory('100Mi', '200Mi', 200);
    let answer: CriError | undefined = new CriError('Unimplemented', 'no such method');
    const world = worldOf({
      ...grown,
      cgroup: () => ({ read: () => ({ ...unresized, memoryUsageBytes: mebi }) }),
      cri: (calls) => ({
        updatePodSandboxResources: async ({ resources }) => {
          calls.push(`asked memory=${Number(resources?.memoryLimitInBytes) / mebi}Mi`);
          if (answer !== undefined) throw answer;
          return {};
        },
      }),
    });
    const resized = async (): Promise<readonly string[]> => {
      for (const [name, told] of Object.entries(grown.told)) world.actuated.setContainer('uid-1', name, told);
      world.calls.length = 0;
      expect((await world.sync()).failure).toBeUndefined();
      return world.calls.slice(0, -1);
    };
    const [asked, pod, container] = [
      'asked memory=200Mi',
      'pod memoryLimitBytes=200Mi',
      'c shares=1024 memory=200Mi',
    ];
    expect(await resized()).toEqual([asked, pod, container]);
    const beside = await resized();
    expect(beside[0]).toBe(pod);
    expect([...beside].sort()).toEqual([asked, container, pod].sort());
    // The runtime was replaced by one that knows it: the sandbox is told first again.
    answer = undefined;
    expect((await resized())[0]).toBe(pod);
    expect(await resized()).toEqual([asked, pod, container]);
  });

  it('106: a cgroup that refuses: the sandbox is told what it had', async () => {
    const { calls, sync } = worldOf({
      ...memory('100Mi', '200Mi', 200),
      cgroup: () => ({ write: () => Promise.reject(new Error('EBUSY')) }),
    });
    expect(await sync()).toEqual({
      failure: "failed to change the memory of the pod's cgroup: EBUSY",
      inProgress: true,
    });
    expect(calls).toEqual([
      'sandbox shares=1024 quota=100000 memory=200Mi',
      'sandbox shares=1024 quota=100000 memory=100Mi',
      'reinspect uid-1',
    ]);
  });

  it('a pod that could not follow its containers is tried again with them', async () => {
    let isBroken = true;
    const { calls, clock, sync } = worldOf({
      ...memory('200Mi', '100Mi', 100),
      cgroup: (noted) => ({
        write: async (_pod, bound) => {
          if (isBroken) throw new Error('EBUSY');
          noted.push(`pod ${bound}`);
        },
      }),
    });
    expect((await sync()).inProgress).toBe(true);
    isBroken = false;
    await clock.advance(10_000);
    calls.length = 0;
    expect(await sync()).toEqual({ failure: undefined, inProgress: false });
    expect(calls.filter((call) => !call.startsWith('sandbox'))).toEqual([
      'c shares=1024 memory=100Mi',
      'pod memoryLimitBytes',
      'reinspect uid-1',
    ]);
  });

  it('104: both resources of a container that restarts: it is killed once, and no call updates it', async () => {
    const policy = (resourceName: string, restartPolicy: string) => ({ resourceName, restartPolicy });
    const { calls, sync } = worldOf({
      ...memory('100Mi', '200Mi', 200),
      wanted: { c: sized('2', '200Mi') },
      more: { resizePolicy: [policy('cpu', 'NotRequired'), policy('memory', 'RestartContainer')] },
    });
    expect((await sync()).failure).toBeUndefined();
    expect(calls).toEqual([
      'sandbox shares=1024 quota=100000 memory=200Mi',
      'pod memoryLimitBytes=200Mi',
      'reinspect uid-1',
    ]);
  });
});
