/** Time that passes with every look at the clock, as it does on a machine. */
import type { VirtualClock } from '../../src/async/index.js';

/** So little that no timer is due sooner. */
const lookMs = 1e-6;

/** Where virtual time stands still, what was seen at the moment at which a step ended has to be looked at again. */
export function passEveryLook(clock: VirtualClock): void {
  const monotonic = clock.monotonic.bind(clock);
  let looks = 0;
  clock.monotonic = () => monotonic() + ++looks * lookMs;
}
