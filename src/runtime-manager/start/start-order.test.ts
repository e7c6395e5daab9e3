import { describe, expect, it } from 'vitest';
import { StartOrder } from './start-order.js';

describe('StartOrder', () => {
  it('numbers pods by their first start', () => {
    const tickets = new StartOrder();
    expect([tickets.of('a'), tickets.of('b'), tickets.of('a')]).toEqual([0, 1, 0]);
    tickets.forget('a');
    expect(tickets.of('a')).toBe(2);
  });
});
