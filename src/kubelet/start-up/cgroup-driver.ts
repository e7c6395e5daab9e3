/** Which cgroup driver counts: the runtime's own, where it tells it. */
import { type Clock, sleep, systemClock } from '../../async/index.js';
import { CgroupDriver, type CriRuntime, isUnimplemented } from '../../cri/index.js';
import type { Timeline } from '../../timeline/index.js';
import type { KubeletMetrics } from '../metrics.js';

const attempts = 3;
const pauseMs = 2_000;

export type CgroupDriverName = 'cgroupfs' | 'systemd';

export async function readCgroupDriver(
  runtime: Pick<CriRuntime, 'runtimeConfig'>,
  configured: string,
  timeline: Timeline,
  { losingSupport }: Pick<KubeletMetrics, 'losingSupport'>,
  clock: Clock = systemClock,
): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    try {
      const { linux } = await runtime.runtimeConfig({});
      if (linux === undefined) return configured;
      switch (linux.cgroupDriver) {
        case CgroupDriver.SYSTEMD:
          return 'systemd';
        case CgroupDriver.CGROUPFS:
          return 'cgroupfs';
        default:
          throw new Error(`runtime returned an unknown cgroup driver ${String(linux.cgroupDriver)}`);
      }
    } catch (error) {
      if (isUnimplemented(error)) {
        losingSupport.set(1, { version: '1.38.0' });
        timeline.record({
          kind: 'decision',
          what: 'cgroup.driver',
          message: `using the configured cgroup driver ${configured}`,
          because: 'the runtime does not tell its own',
          level: 'debug',
        });
        return configured;
      }
      if (attempt === attempts) throw error;
      await sleep(clock, pauseMs);
    }
  }
}
