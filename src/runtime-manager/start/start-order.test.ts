import { describe, expect, it } from 'vitest';
import { StartOrder } from './start-order.js';

describe('start tickets', () => {
  it('tickets follow the order of first starts', () => {
    const tickets = new StartOrder();
    expect([tickets.of('a'), tickets.of('b'), tickets.of('a')]).toEqual([0, 1, 0]);
    tickets.forget('a');
    expect(tickets.of('a')).toBe(2);
  });
});
