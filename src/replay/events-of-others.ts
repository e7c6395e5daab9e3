/** Kubernetes events that others tell by the timeline of a kubelet: the kubelet posts them, so they come in like all from outside. */
import type { Timeline } from '../timeline/index.js';

type Subscribe = Timeline['subscribe'];

/** The port through which they come. */
export interface EventsOfOthers {
  subscribe: Subscribe;
}

export const eventsOfOthers = 'events of others';

/** Entries that are no events are read by nobody in a kubelet but those who show them. */
export function eventsSaidBy(timeline: Timeline, isByOthers: () => boolean): EventsOfOthers {
  return {
    subscribe: (reader) =>
      timeline.subscribe((entry) => {
        if (entry.event !== undefined && isByOthers()) reader(entry);
      }),
  };
}

/** Readers hear what the kubelet says itself, and the events of others by the port. */
export function withEventsOfOthers(own: Subscribe, { subscribe }: EventsOfOthers): Subscribe {
  return (reader) => {
    const ends = [own(reader), subscribe(reader)];
    return () => {
      for (const end of ends) end();
    };
  };
}

/** The same timeline, whose `subscribe` is another. */
export function withSubscribe(timeline: Timeline, subscribe: Subscribe): Timeline {
  return new Proxy(timeline, {
    get: (target, name) => {
      if (name === 'subscribe') return subscribe;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
