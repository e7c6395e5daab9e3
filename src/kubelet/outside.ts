/** The one place through which a kubelet gets what lies outside it, so that a recorder can stand in between. */
import { type Clock, systemClock } from '../async/index.js';
import type { Timeline } from '../timeline/index.js';

/**
 * A port is an object with methods, or a function. What a port's methods give back may be a value, a promise, a stream or
 * another such object; functions among their arguments are called when the world has something to tell.
 */
export interface Outside {
  /** The clock of ports: what lies outside a recorded kubelet goes on while its own clock stands still. */
  readonly clock: Clock;
  /** The timeline for ports: what they say there is not said by the kubelet. */
  timeline(timeline: Timeline): Timeline;
  /** The port of this name; `make` makes the real one and is not called where the world is not there. */
  port<Port extends object>(name: string, make: () => Port): Port;
}

/** Nobody in between. */
export function plainOutside(clock: Clock = systemClock): Outside {
  return { clock, timeline: (timeline) => timeline, port: (_, make) => make() };
}
