/** A kubelet of a cluster that dies at any call to its API server, and the next one: nothing is lost, nothing runs twice. */
import { afterEach, describe, expect, it } from 'vitest';
import { ClusterMachine, type Member, startMember } from './cluster-machine.js';
import { endNodes, second } from './node.js';
import { staticName, staticPod } from './pods.js';
import type { Cut } from './runtime-line.js';

afterEach(endNodes);

describe('a kubelet that dies at any call to the API', () => {
  const name = staticName('still');
  const statics = [staticPod('still')];

  /** A cluster in which a kubelet has just started, with pods to start, to change, to replace and to end. */
  async function story(on: ClusterMachine, apiCut?: Cut): Promise<Member> {
    await on.create('stays');
    await on.create('edited', { containers: ['app', 'other'] });
    await on.create('ended', { graceSeconds: 2, sim: { 'stop-delay': '1s' } });
    await on.create('again', { graceSeconds: 2, sim: { 'stop-delay': '1s' } });
    const first = await startMember({
      on,
      statics: [...statics, staticPod('leaves')],
      ...(apiCut === undefined ? {} : { apiCut }),
    });
    await first.node.advance(3 * second);
    await on.patch('edited', { spec: { containers: [{ name: 'app', image: 'app:2' }] } });
    await on.delete('ended');
    await on.delete('again', 0);
    await on.create('again', { image: 'app:2' });
    first.node.set(statics, 'file');
    await on.create('late');
    await first.node.advance(5 * second);
    return first;
  }

  it('loses nothing and starts nothing twice', async () => {
    const whole = await story(new ClusterMachine());
    const cuts = whole.line.cuts();
    await whole.crash();
    await endNodes();
    expect(cuts.length).toBeGreaterThan(30);
    for (const cut of cuts) {
      const on = new ClusterMachine();
      try {
        const first = await story(on, cut);
        const kept = on.machine.running().filter((seen) => seen.podName === 'stays' || seen.name === 'other');
        await first.crash();
        const next = await startMember({ on, statics });
        for (const pod of ['stays', 'edited', 'again', 'late', name]) await next.untilReady(pod);
        for (const pod of ['ended', staticName('leaves')]) await next.untilGone(pod);
        await next.node.until('only what is wanted runs', () => on.machine.running().length === 6);
        const isEdited = (): boolean => on.machine.running('edited').some(({ image }) => image === 'app:2');
        await next.node.until('the edited one runs', isEdited);
        const running = on.machine.running().map((seen) => `${seen.podName} ${seen.name} ${seen.image}`);
        expect(running.sort()).toEqual([
          'again app app:2',
          'edited app app:2',
          'edited other app:1',
          'late app app:1',
          'stays app app:1',
          `${name} app app:1`,
        ]);
        const now = new Set(on.machine.running().map(({ id }) => id));
        expect(kept.filter(({ id }) => !now.has(id))).toEqual([]);
        expect(on.machine.seenSandboxes().every(({ attempt }) => attempt === 0)).toBe(true);
        await endNodes();
      } catch (cause) {
        const when = cut.withEffect ? 'after' : 'before';
        throw new Error(
          `it died at call ${cut.call} (${JSON.stringify(whole.line.calls[cut.call - 1])}), ${when} its effect`,
          {
            cause,
          },
        );
      }
    }
  }, 300_000);
});
