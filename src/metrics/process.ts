/** Process metrics under the names that alerts and dashboards expect. */
import { readdirSync, readFileSync } from 'node:fs';
import type { Registry } from './registry.js';

export function registerStartTime(registry: Registry): void {
  registry
    .gauge('process_start_time_seconds', 'Start time of the process since unix epoch in seconds.')
    .set(performance.timeOrigin / 1000);
}

export function registerProcessMetrics(registry: Registry): void {
  registerStartTime(registry);
  const gauge = (name: string, help: string, value: () => number | undefined): void => {
    const metric = registry.gauge(name, help);
    registry.onCollect(() => {
      const current = value();
      if (current !== undefined && Number.isFinite(current)) metric.set(current);
    });
  };
  const cpu = registry.counter(
    'process_cpu_seconds_total',
    'Total user and system CPU time spent in seconds.',
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
  gauge('process_open_fds', 'Number of open file descriptors.', () =>
    ofProc(() => readdirSync('/proc/self/fd').length),
  );
  gauge('process_max_fds', 'Maximum number of open file descriptors.', () =>
    ofProc(() =>
      Number(/^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? Number.NaN),
    ),
  );
}

/** Without `/proc` the metric is left out. */
function ofProc(read: () => number): number | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
