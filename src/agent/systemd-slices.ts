/** The slices of the machine's systemd, for the cgroups of pods. */
import { systemClock } from '../async/index.js';
import type { SliceManager } from '../resources/cgroups/index.js';
import type { Timeline } from '../timeline/index.js';

export interface OpenSlices {
  readonly units: SliceManager;
  close(): Promise<void>;
}

/** Loads the code; the bus is connected by the first call. */
export async function openSlices(
  environment: NodeJS.ProcessEnv,
  timeline: Timeline,
  /** Is there exactly where systemd runs. */
  runtimeDirectory?: string,
): Promise<OpenSlices> {
  const { createSystemdUnits, SystemBus } = await import('../dbus/index.js');
  const bus = new SystemBus({ clock: systemClock, environment });
  const units = createSystemdUnits({
    bus,
    clock: systemClock,
    onStopProblem: (unit, problem) => {
      const message = `systemd did not stop ${unit} as it should: ${problem}`;
      timeline.record({ kind: 'problem', what: 'cgroup.unit', message, level: 'warn', data: { unit } });
    },
    ...(runtimeDirectory === undefined ? {} : { runtimeDirectory }),
  });
  return { units, close: () => bus.close() };
}
