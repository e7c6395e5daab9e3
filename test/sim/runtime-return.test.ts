/** A runtime that goes and comes back is asked for its state when its events tell of that, not with the next check. */
import { afterEach, describe, expect, it } from 'vitest';
import { endNodes, second, startNode } from './node.js';

afterEach(endNodes);

describe('the check of the runtime', () => {
  it('is made when the stream of events breaks and when it is back', async () => {
    const node = await startNode();
    await node.advance(12 * second);
    const asked = (): number => node.line.of('status').length;
    let before = asked();
    node.machine.goAway();
    await node.advance(0);
    expect(asked()).toBe(before + 1);
    await node.advance(100);
    node.machine.setCondition('NetworkReady', false, 'NoPlugin', 'cni is not there');
    node.machine.comeBack();
    before = asked();
    await node.advance(second);
    expect(asked()).toBe(before + 1);
    expect(node.recorded('runtime.state').at(-1)?.message).toContain('cni is not there');
  });
});
