/** Tells the timeline what eviction saw, decided and did. */
import { type EvictionSignal, type EvictionThreshold, type Pod, thresholdUnits } from '../../kube/index.js';
import { podRef, type Timeline } from '../../timeline/index.js';
import type { FileSystemLayout } from './layout.js';
import { signalAmount } from './message.js';
import type { Choice, RankedPod } from './ranking.js';
import type { NodeReclaim } from './reclaim.js';
import { type SignalReadings, signalFacts } from './signals.js';
import { isHard } from './thresholds.js';

/** Names in the message of a ranking; the rest is a number. */
const namesTold = 10;

export class EvictionRecorder {
  readonly #timeline: Timeline;
  readonly #nodeName: string;
  #lastProblem = '';
  #lastUnread = '';

  constructor(timeline: Timeline, nodeName: string) {
    this.#timeline = timeline;
    this.#nodeName = nodeName;
  }

  layout({ dedicated, split }: FileSystemLayout, ignored: readonly EvictionSignal[]): void {
    const images = dedicated
      ? 'images have a file system of their own'
      : 'images and pods share a file system';
    const names = ignored.join(' and ');
    this.#timeline.record({
      kind: 'notice',
      what: 'eviction.layout',
      message: ignored.length === 0 ? images : `${images}; the configured threshold of ${names} is ignored`,
      data: { dedicated, split },
      level: ignored.length === 0 ? 'debug' : 'warn',
    });
  }

  /** Those that are met now and were not before, and the other way round. */
  thresholds(
    before: readonly EvictionThreshold[],
    met: readonly EvictionThreshold[],
    readings: SignalReadings,
  ): void {
    for (const threshold of met) if (!before.includes(threshold)) this.#threshold(threshold, readings, true);
    for (const threshold of before) if (!met.includes(threshold)) this.#threshold(threshold, readings, false);
  }

  #threshold(threshold: EvictionThreshold, readings: SignalReadings, isMet: boolean): void {
    const { signal, value } = threshold;
    const reading = readings.get(signal);
    const wanted = reading && thresholdUnits(value, reading.capacity);
    const { unit } = signalFacts[signal];
    const kind = isHard(threshold) ? 'hard' : 'soft';
    this.#timeline.record({
      kind: 'transition',
      what: 'eviction.threshold',
      message: isMet
        ? `the ${kind} threshold of ${signal} is met`
        : `the ${kind} threshold of ${signal} is no longer met`,
      ...(reading === undefined || wanted === undefined
        ? {}
        : {
            because: `${signalAmount(reading.available, unit)} are available, the threshold is ${signalAmount(wanted, unit)}`,
          }),
      data: { signal, met: isMet, available: reading?.available, threshold: wanted },
      level: isMet ? 'warn' : 'info',
    });
  }

  /** Thresholds of signals that nobody can read are never met; which these are is told when it changes. */
  unread(thresholds: readonly EvictionThreshold[], readings: SignalReadings): void {
    const signals = new Set(thresholds.map(({ signal }) => signal).filter((signal) => !readings.has(signal)));
    const names = [...signals].join(', ');
    if (names === this.#lastUnread) return;
    this.#lastUnread = names;
    this.#timeline.record({
      kind: 'notice',
      what: 'eviction.signals',
      message: names === '' ? 'eviction reads all signals' : `eviction has no figures of ${names}`,
      ...(names === '' ? {} : { because: 'the machine does not tell them, or they have no limit' }),
      data: { unread: names },
    });
  }

  attempt(signal: EvictionSignal): void {
    const message = `Attempting to reclaim ${signalFacts[signal].resource}`;
    this.#timeline.nodeEvent(this.#nodeName, 'Warning', 'EvictionThresholdMet', message);
  }

  notFreed(what: NodeReclaim, error: unknown): void {
    this.#timeline.record({
      kind: 'problem',
      what: 'eviction.free',
      message:
        what === 'images'
          ? 'unused images could not all be removed'
          : 'dead containers could not all be removed',
      data: { what },
      level: 'warn',
      error,
    });
  }

  reclaimed(
    signal: EvictionSignal,
    steps: readonly NodeReclaim[],
    relieved: boolean,
    durationMs: number,
  ): void {
    const freed = steps
      .map((step) => (step === 'images' ? 'unused images' : 'dead containers'))
      .join(' and ');
    this.#timeline.record({
      kind: 'effect',
      what: 'eviction.reclaim',
      message: `removed ${freed}: ${relieved ? 'no pod has to go' : 'that is not enough, a pod has to go'}`,
      because: `the threshold of ${signal} is met`,
      data: { signal, relieved },
      durationMs,
    });
  }

  ranked(signal: EvictionSignal, ranking: readonly RankedPod[], { chosen, passedOver }: Choice): void {
    const names = ranking
      .slice(0, namesTold)
      .map(({ pod }) => `${pod.metadata.namespace}/${pod.metadata.name}`);
    const more = ranking.length > namesTold ? ` and ${ranking.length - namesTold} more` : '';
    const [first] = passedOver;
    this.#timeline.record({
      kind: chosen === undefined ? 'problem' : 'decision',
      what: 'eviction.rank',
      message:
        chosen === undefined
          ? `unable to evict any pods for ${signal}; looked at ${names.join(', ')}${more}`
          : `the order to go for ${signal}: ${names.join(', ')}${more}`,
      because: chosen?.because ?? first?.because ?? 'there are no pods',
      data: {
        signal,
        candidates: ranking.length,
        ...(chosen === undefined
          ? {}
          : { first: `${chosen.pod.metadata.namespace}/${chosen.pod.metadata.name}` }),
      },
      ...(chosen === undefined ? { level: 'warn' } : {}),
    });
  }

  evicted(
    pod: Pod,
    told: {
      readonly label: string;
      readonly message: string;
      readonly because: string;
      readonly graceSeconds: number;
      readonly annotations?: Readonly<Record<string, string>>;
    },
  ): void {
    const { label, message, because, graceSeconds, annotations = {} } = told;
    this.#timeline.record({
      kind: 'decision',
      what: 'pod.evicted',
      message: `the pod is evicted: ${message.trim()}`,
      because,
      pod: podRef(pod),
      data: { signal: label, graceSeconds },
      level: 'warn',
    });
    this.#timeline.record({
      kind: 'event',
      what: 'event.Evicted',
      message,
      pod: podRef(pod),
      event: {
        type: 'Warning',
        reason: 'Evicted',
        ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
      },
    });
  }

  /** What keeps passes from being made is told when it changes; undefined for a pass that was made. */
  pass(problem: { readonly message: string; readonly error: unknown } | undefined): void {
    const text = problem === undefined ? '' : `${problem.message} ${String(problem.error)}`;
    if (text === this.#lastProblem) return;
    this.#lastProblem = text;
    this.#timeline.record(
      problem === undefined
        ? { kind: 'notice', what: 'eviction.pass', message: 'eviction sees the node again' }
        : { kind: 'problem', what: 'eviction.pass', level: 'warn', ...problem },
    );
  }
}
