/** Every call of a CSI driver that goes wrong in every way: the pod runs in the end, and nothing is left after it. */
import { afterEach, describe, expect, it } from 'vitest';
import { GrpcCode, type GrpcCodeName } from '../../src/grpc/index.js';
import type { Pod } from '../../src/kube/index.js';
import { inlineHandle } from '../../src/volumes/csi/names.js';
import type { CsiCapability, CsiFaultEffect, CsiMethod } from './csi-driver.js';
import { CsiWorld, claimPod, inlinePod } from './csi-world.js';
import { endNodes, minute } from './node.js';

afterEach(endNodes);

interface FaultCase {
  readonly method: CsiMethod;
  readonly what: string;
  readonly when: 'before' | 'after';
  readonly effect: CsiFaultEffect;
  readonly times: number;
}

// Object.keys widens to string; they are exactly the names of codes.
const codes = Object.keys(GrpcCode).filter((code) => code !== 'OK') as GrpcCodeName[];
const error = (code: GrpcCodeName): [string, CsiFaultEffect] => [code, { kind: 'error', code }];
const others: readonly [string, CsiFaultEffect][] = [
  ['a hang', { kind: 'hang' }],
  ['a lost answer', { kind: 'lost' }],
  ['the driver killed', { kind: 'killed', downMs: 20_000 }],
];
/** One code for each class of failures, and all that is no answer. */
const classes = [error('Internal'), error('Aborted'), ...others];

const stagedMethods: readonly CsiMethod[] = [
  'nodeGetInfo',
  'nodeGetCapabilities',
  'nodeStageVolume',
  'nodePublishVolume',
  'nodeUnpublishVolume',
  'nodeUnstageVolume',
];
const publishedMethods = stagedMethods.filter((method) => !method.includes('tage'));

function cases(
  methods: readonly CsiMethod[],
  effects: readonly [string, CsiFaultEffect][],
  times: number,
): [string, FaultCase][] {
  return methods.flatMap((method) =>
    effects.flatMap(([what, effect]) =>
      (['before', 'after'] as const).map((when): [string, FaultCase] => [
        `${method}: ${what} ${when} its effect, ${times} times`,
        { method, what, when, effect, times },
      ]),
    ),
  );
}

/** The life of one pod, with a fault in it. */
async function live(
  { method, when, effect, times }: FaultCase,
  pod: (driver: string) => Pod,
  volumeId: string,
  capabilities?: readonly CsiCapability[],
): Promise<void> {
  const world = new CsiWorld(capabilities === undefined ? {} : { driver: { capabilities } });
  const { driver } = world;
  world.volume('disk');
  await driver.volumes.write(volumeId, 'kept', 'kept');
  await driver.start();
  const isAtEnd = method.startsWith('nodeUn');
  const fail = (): void => driver.fail({ method, when, effect, times });
  if (!isAtEnd) fail();
  const kubelet = await world.start();
  kubelet.node.set([pod(driver.name)]);
  await kubelet.untilRuns('web', 'kept');
  if (isAtEnd) fail();
  await kubelet.end('web');
  await kubelet.untilNothingIsLeft(20 * minute);
  expect(driver.hits, 'the fault has happened').toBeGreaterThan(0);
  // Volumes are served while a driver that is registered for the first time is slow to tell its node.
  if (method !== 'nodeGetInfo') expect(driver.hits).toBe(times);
  expect(await driver.volumes.read(volumeId, 'kept')).toBe('kept');
}

const claimed = (): Pod => claimPod('web', 'disk');

describe('a pod with a staged volume survives', () => {
  it.each(cases(stagedMethods, [...codes.map(error), ...others], 1))('%s', (_, fault) =>
    live(fault, claimed, 'vol-disk'),
  );
  it.each(cases(stagedMethods, classes, 4))('%s', (_, fault) => live(fault, claimed, 'vol-disk'));
});

describe('a pod with a volume of a driver that does not stage survives', () => {
  it.each(cases(publishedMethods, classes, 2))('%s', (_, fault) => live(fault, claimed, 'vol-disk', []));
});

describe('a pod with an inline volume survives', () => {
  const handle = inlineHandle('uid-of-web', 'inline');
  it.each(cases(publishedMethods, classes, 2))('%s', (_, fault) =>
    live(fault, (driver) => inlinePod('web', driver), handle),
  );
});

describe('a pod that is deleted while its volume fails leaves nothing', () => {
  const always = 1_000_000;
  const endless = classes.filter(([, { kind }]) => kind !== 'killed');
  const methods: readonly CsiMethod[] = ['nodeGetCapabilities', 'nodeStageVolume', 'nodePublishVolume'];
  it.each(cases(methods, endless, always))('%s', async (_, { method, when, effect, times }) => {
    const world = new CsiWorld();
    const { driver } = world;
    world.volume('disk');
    await driver.start();
    driver.fail({ method, when, effect, times });
    const kubelet = await world.start();
    kubelet.node.set([claimPod('web', 'disk')]);
    await kubelet.node.advance(3 * minute);
    await kubelet.end('web');
    if (method === 'nodeGetCapabilities') driver.mend();
    await kubelet.untilNothingIsLeft(20 * minute);
    expect(driver.hits).toBeGreaterThan(1);
  });
});
