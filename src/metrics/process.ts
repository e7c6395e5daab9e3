/** Process metrics under the names that alerts and dashboards expect. */
import { readdirSync, readFileSync } from 'node:fs';
import type { Registry } from './registry.js';

const startTimeHelp = 'Unix time at which the process started, in seconds.';

/** For a page without the other metrics of the process; only there does it say how stable it is. */
export function registerStartTime(registry: Registry, help = startTimeHelp): void {
  registry.gauge('process_start_time_seconds', help).set(performance.timeOrigin / 1000);
}

export function registerProcessMetrics(registry: Registry): void {
  registerStartTime(registry, `[NONE] ${startTimeHelp}`);
  const gauge = (name: string, help: string, value: () => number | undefined): void => {
    const metric = registry.gauge(name, `[NONE] ${help}`);
    registry.onCollect(() => {
      const current = value();
      if (current !== undefined && Number.isFinite(current)) metric.set(current);
    });
  };
  const cpu = registry.counter(
    'process_cpu_seconds_total',
    '[NONE] Total user and system CPU time spent in seconds.',
  );
  registry.onCollect(() => {
    const { user, system } = process.cpuUsage();
    cpu.inc({}, (user + system) / 1e6 - cpu.value());
  });
  gauge('process_resident_memory_bytes', 'Resident memory size in bytes.', () => process.memoryUsage.rss());
  gauge('process_virtual_memory_bytes', 'Virtual memory size in bytes.', () =>
    // In kilobytes, however large a page is.
    ofProc(
      () =>
        1024 *
        Number(/^VmSize:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? Number.NaN),
    ),
  );
  gauge('process_virtual_memory_max_bytes', 'Maximum amount of virtual memory available in bytes.', () =>
    ofProc(() => limitOf('Max address space')),
  );
  const network = (name: string, help: string, column: number): void => {
    const counter = registry.counter(name, `[NONE] ${help}`);
    registry.onCollect(() => {
      const bytes = ofProc(() => networkBytes(readFileSync('/proc/self/net/dev', 'utf8'), column));
      if (bytes !== undefined && bytes > counter.value()) counter.inc({}, bytes - counter.value());
    });
  };
  network('process_network_receive_bytes_total', 'Bytes received by the network namespace.', 0);
  network('process_network_transmit_bytes_total', 'Bytes sent by the network namespace.', 8);
  gauge('process_open_fds', 'Number of open file descriptors.', () =>
    ofProc(() => readdirSync('/proc/self/fd').length),
  );
  gauge('process_max_fds', 'Maximum number of open file descriptors.', () =>
    ofProc(() => limitOf('Max open files')),
  );
}

/** The soft limit; `unlimited` is the largest number that the kernel has. */
function limitOf(name: string): number {
  const [, soft] =
    new RegExp(`^${name}\\s+(\\S+)`, 'm').exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
  return soft === 'unlimited' ? 2 ** 64 : Number(soft ?? Number.NaN);
}

/** The sum of one column of `/proc/net/dev` over all interfaces. */
export function networkBytes(text: string, column: number): number {
  let sum = 0;
  for (const [, counts = ''] of text.matchAll(/^\s*[^:\s]+:\s*(.*)$/gm))
    sum += Number(counts.trim().split(/\s+/)[column] ?? 0);
  return sum;
}

/** Without `/proc` the metric is left out. */
function ofProc(read: () => number): number | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
