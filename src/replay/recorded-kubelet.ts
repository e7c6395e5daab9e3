/** Makes a kubelet whose ports are recorded, and the same kubelet over its record. */
import type { Kubelet, KubeletOptions } from '../kubelet/index.js';
import { Timeline } from '../timeline/index.js';
import {
  type EventsOfOthers,
  eventsOfOthers,
  withEventsOfOthers,
  withSubscribe,
} from './events-of-others.js';
import { type GivenPorts, outsideOptions } from './outside-options.js';
import { Player } from './player.js';
import type { Recorder } from './recorder.js';
import { randomOf } from './seeded-random.js';

export type MakeKubelet<Made extends Kubelet> = (options: KubeletOptions) => Promise<Made>;

/** Makes the kubelet and lets it start through the recorder. */
export async function recordedKubelet<Made extends Kubelet>(
  recorder: Recorder,
  { seed, ...options }: KubeletOptions & { readonly timeline: Timeline; readonly seed: string },
  make: MakeKubelet<Made>,
): Promise<Made> {
  const kubelet = await recorder.enter('create', () =>
    make({
      ...outsideOptions(options, recorder.outside),
      clock: recorder.clock,
      timeline: recorder.timelineOf(options.timeline),
      random: randomOf(seed),
      outside: recorder.outside,
    }),
  );
  const { timeline } = options;
  return { ...kubelet, timeline, start: () => recorder.enter('start', () => kubelet.start()) };
}

/** What a record stands for is never made. */
function nowhere(): never {
  throw new Error('a replay has nothing of its own that lies outside the kubelet');
}

export interface ReplayOptions
  extends Omit<KubeletOptions, 'runtime' | 'clock' | 'timeline' | 'random' | 'outside'> {
  readonly seed: string;
  readonly ports: GivenPorts;
}

/** A player whose kubelet is made when the record says so. */
export function replayedKubelet<Made extends Kubelet>(
  { seed, ports, ...options }: ReplayOptions,
  make: MakeKubelet<Made>,
): Player {
  let kubelet: Made | undefined;
  const player: Player = new Player({
    go: (name) => {
      if (name === 'start') {
        void kubelet?.start();
        return;
      }
      const timeline = new Timeline({ clock: player.clock });
      timeline.subscribe(player.said);
      const { outside, clock } = player;
      const others = outside.port<EventsOfOthers>(eventsOfOthers, nowhere);
      // The runtime and the machine are not there; the ports of their names are all that is left of them.
      const given: KubeletOptions = {
        ...options,
        runtime: {} as KubeletOptions['runtime'],
        ...(ports.isOwnMachine ? {} : { machine: {} as NonNullable<KubeletOptions['machine']> }),
        sources: ports.sources.map((name) => ({ name, create: nowhere })),
        timeline: withSubscribe(
          timeline,
          withEventsOfOthers((reader) => timeline.subscribe(reader), others),
        ),
      };
      make({ ...outsideOptions(given, outside, ports), clock, random: randomOf(seed), outside }).then(
        (made) => {
          kubelet = made;
        },
        (error: unknown) => {
          player.failed(error);
        },
      );
    },
  });
  return player;
}
