import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import type { CriRuntime } from '../../cri/index.js';
import { SimRuntime } from '../../runtimes/sim/index.js';
import { ownPodsOnly, runLabel } from './own-pods.js';
import { sweepPods } from './sweep.js';

const sandbox = (name: string) => ({
  config: { metadata: { name, uid: name, namespace: 'default', attempt: 0 }, labels: { app: name } },
});
const names = async (runtime: CriRuntime): Promise<string[]> =>
  (await runtime.listPodSandbox({})).items.map(({ metadata }) => metadata?.name ?? '').sort();

describe('ownPodsOnly', () => {
  const setUp = async () => {
    const shared: CriRuntime = new SimRuntime({ clock: new VirtualClock() });
    const [a, b] = [ownPodsOnly(shared, 'a'), ownPodsOnly(shared, 'b')];
    await shared.runPodSandbox(sandbox('foreign'));
    await a.runPodSandbox(sandbox('of-a'));
    await b.runPodSandbox(sandbox('of-b'));
    return { shared, a, b };
  };
  it('lists only the pods of the run, with their labels', async () => {
    const { shared, a, b } = await setUp();
    expect(await names(shared)).toEqual(['foreign', 'of-a', 'of-b']);
    expect(await names(a)).toEqual(['of-a']);
    expect(await names(b)).toEqual(['of-b']);
    expect((await a.listPodSandbox({})).items[0]?.labels).toEqual({ app: 'of-a', [runLabel]: 'a' });
  });
  it('keeps the other filters of a list', async () => {
    const { a } = await setUp();
    expect((await a.listPodSandbox({ filter: { labelSelector: { app: 'other' } } })).items).toEqual([]);
  });
  it('keeps the pods of others in a sweep', async () => {
    const { shared, a } = await setUp();
    await sweepPods(a);
    expect(await names(shared)).toEqual(['foreign', 'of-b']);
  });
});
