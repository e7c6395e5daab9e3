/** How often the line of a pod is drawn anew though nothing was told of the pod: ages and countdowns go on by themselves. */
import { type PodView, toneOf } from '../../src/cli/run/pod-view.js';

/** The texts of a line change each second, each minute, or seldom. */
export type Pace = 'seconds' | 'minutes' | 'hours';

/** In ticks of a second. */
export const paceTicks: Readonly<Record<Pace, number>> = { seconds: 1, minutes: 15, hours: 300 };

type TimedTexts = Pick<PodView, 'waitsFor' | 'age' | 'restarts' | 'status'>;

export function paceOf({ waitsFor, age, restarts, status }: TimedTexts): Pace {
  const texts = `${waitsFor} ${age} ${restarts}`;
  // Up to ten minutes an age has seconds, which it does not show when they are 0.
  if (/\d+s\b|\b[2-9]m\b/.test(texts)) return 'seconds';
  // What is in the way of a pod may be the node, which is told without the pod.
  return toneOf(status) !== 'good' || /\d+m\b/.test(texts) ? 'minutes' : 'hours';
}

/** The lines by their pace. */
export class Paces {
  readonly #lines: Readonly<Record<Pace, Set<string>>> = {
    seconds: new Set(),
    minutes: new Set(),
    hours: new Set(),
  };

  set(uid: string, pace: Pace): void {
    if (this.#lines[pace].has(uid)) return;
    this.delete(uid);
    this.#lines[pace].add(uid);
  }

  delete(uid: string): void {
    for (const lines of Object.values(this.#lines)) lines.delete(uid);
  }

  /** Those whose turn it is. */
  due(tick: number): readonly string[] {
    const { seconds, minutes, hours } = paceTicks;
    return [
      ...(tick % seconds === 0 ? this.#lines.seconds : []),
      ...(tick % minutes === 0 ? this.#lines.minutes : []),
      ...(tick % hours === 0 ? this.#lines.hours : []),
    ];
  }
}
