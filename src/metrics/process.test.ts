import { describe, expect, it } from 'vitest';
import { networkBytes, registerProcessMetrics } from './process.js';
import { Registry } from './registry.js';

describe('process metrics', () => {
  const registry = new Registry();
  registerProcessMetrics(registry);
  const value = (name: string): number =>
    Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(registry.text())?.[1]);

  it.each([
    ['process_start_time_seconds', Date.now() / 1000 - 3600, Date.now() / 1000 + 1],
    ['process_cpu_seconds_total', 0.01, 3600],
    ['process_resident_memory_bytes', 10 << 20, 2 ** 40],
    ['process_virtual_memory_bytes', 10 << 20, 2 ** 50],
    ['process_open_fds', 3, 1e6],
    ['process_max_fds', 16, 1e10],
    ['process_virtual_memory_max_bytes', 10 << 20, 2 ** 65],
    ['process_network_receive_bytes_total', -1, 2 ** 62],
    ['process_network_transmit_bytes_total', -1, 2 ** 62],
  ])('%s is plausible', (name, least, most) => {
    expect(value(name)).toBeGreaterThan(least);
    expect(value(name)).toBeLessThan(most);
  });

  it('count CPU time', () => {
    const before = value('process_cpu_seconds_total');
    const untilMs = performance.now() + 50;
    while (performance.now() < untilMs);
    expect(value('process_cpu_seconds_total')).toBeGreaterThan(before);
  });

  it('adds up the bytes of all interfaces', () => {
    const text = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:     100       1    0    0    0     0          0         0      200       1    0    0    0     0       0          0
  eth0:1000       1    0    0    0     0          0         0     2000       1    0    0    0     0       0          0
`;
    expect([networkBytes(text, 0), networkBytes(text, 8)]).toEqual([1100, 2200]);
  });
});
