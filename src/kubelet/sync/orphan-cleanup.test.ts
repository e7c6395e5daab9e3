import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import { simulatedHost } from '../../host/index.js';
import { createKubeletMetrics } from '../metrics.js';
import { OrphanCleanup, type OrphanCleanupOptions, passesToWait } from './orphan-cleanup.js';

const root = '/root';

async function scene(more: Partial<OrphanCleanupOptions> = {}) {
  const host = simulatedHost();
  for (const uid of ['known', 'gone']) await host.files.mkdir(`${root}/pods/${uid}`, { recursive: true });
  const done: string[] = [];
  const metrics = createKubeletMetrics();
  const clock = new VirtualClock();
  const cleanup = new OrphanCleanup({
    clock,
    volumes: { podsChanged: () => void done.push('volumes told'), exist: () => false },
    actuated: {
      keepOnly: (isKept) => void done.push(`resources of gone ${isKept('gone') ? 'kept' : 'forgotten'}`),
    },
    users: { keepOnly: (uids) => void done.push(`ids kept of ${[...uids].join()}`) },
    dirs: {
      host,
      rootDir: root,
      directories: { keepOnly: (uids) => void done.push(`directories kept of ${[...uids].join()}`) },
    },
    podsWait: () => false,
    isConfigured: () => false,
    metrics,
    ...more,
  });
  const run = (): Promise<boolean> => cleanup.run(new Set(['known']));
  const counts = (): number[] => [metrics.cleanedVolumes.value(), metrics.cleanedVolumeErrors.value()];
  return { host, clock, done, counts, run, dirs: async () => await host.files.readdir(`${root}/pods`) };
}
const memories = ['volumes told', 'resources of gone forgotten', 'ids kept of known'];

describe('OrphanCleanup', () => {
  it('forgets pods that are gone and removes their directories', async () => {
    const { run, done, counts, dirs } = await scene();
    await run();
    expect(await dirs()).toEqual(['known']);
    expect(done).toEqual([...memories, 'directories kept of known']);
    expect(counts()).toEqual([1, 0]);
  });
  it.each([
    ['its volumes are still mounted', { volumes: { podsChanged: () => {}, exist: () => true } }],
    ['it came back while the pass ran', { isConfigured: (uid: string) => uid === 'gone' }],
  ])('keeps the directory of a pod: %s', async (_rule, more) => {
    const { run, counts, dirs } = await scene(more);
    await run();
    expect([...(await dirs())].sort()).toEqual(['gone', 'known']);
    expect(counts()).toEqual([1, 1]);
  });
  it('says that nothing is left once it finds nothing to remove', async () => {
    const { run } = await scene();
    expect(await run()).toBe(false);
    expect(await run()).toBe(true);
  });
  it('counts a directory that cannot be removed, then fails with the cause', async () => {
    const { host, run, counts } = await scene();
    await host.files.mkdir(`${root}/pods/gone/volumes/kind/v`, { recursive: true });
    await host.files.writeFile(`${root}/pods/gone/volumes/kind/v/data`, 'x');
    await expect(run()).rejects.toThrow('orphaned pod "gone" found');
    expect(counts()).toEqual([1, 1]);
  });
  it('does not wait for a disk that hangs, and removes nothing once it answers late', async () => {
    const { host, clock, run, dirs } = await scene();
    let answer = (): void => {};
    const held = new Promise<void>((resolve) => {
      answer = resolve;
    });
    let calls = 0;
    host.inject({
      at: ({ operation }) => operation === 'readdir' && calls++ === 0,
      when: 'before',
      effect: { kind: 'run', action: () => held },
    });
    const stuck = run().catch((error: Error) => error.message);
    await clock.advance(5_000);
    expect(await stuck).toBe('the disk does not answer within 5 s');
    // Nobody asks it again before it has answered.
    expect(await run()).toBe(false);
    answer();
    await clock.advance(0);
    expect(await dirs()).toContain('gone');
    await run();
    expect(await dirs()).toEqual(['known']);
    expect(clock.pendingTimers).toBe(0);
  });
  it('directories wait while pods are queued; memories do not', async () => {
    const { run, done, counts, dirs } = await scene({ podsWait: () => true });
    await run();
    expect(await dirs()).toContain('gone');
    expect(done).toEqual(memories);
    expect(counts()).toEqual([0, 0]);
  });
  it('a node without pod directories only forgets', async () => {
    const { run, done } = await scene({ dirs: undefined });
    await run();
    expect(done).toEqual(memories);
  });
});

describe('what can wait while pods wait', () => {
  it('waits for ten passes at most and is done once before it waits again', () => {
    const canWait = passesToWait(() => true);
    const asked = Array.from({ length: 12 }, canWait);
    expect(asked).toEqual([...Array<boolean>(10).fill(true), false, true]);
  });
  it('does not wait when nobody else does', () => {
    let podsWait = true;
    const canWait = passesToWait(() => podsWait);
    expect(canWait()).toBe(true);
    podsWait = false;
    expect(canWait()).toBe(false);
  });
});
