/** Drives eviction: looks at the node every few seconds, frees what it can, and ends pods one after another. */
import { type Clock, isCancelled, sleep, throwIfCancelled } from '../../async/index.js';
import type { EvictionThreshold, Pod } from '../../kube/index.js';
import type { Timeline } from '../../timeline/index.js';
import type { EvictionMetrics } from '../metrics.js';
import { type EvictionForecast, forecastEviction } from './forecast.js';
import { evictionGraceSeconds, immediateGraceSeconds } from './grace.js';
import { decideLayout, type FileSystemLayout } from './layout.js';
import { hasLocalStorageLimit, localStorageExcess } from './local-storage.js';
import { evictionText } from './message.js';
import { decidePass, firstPass, type PassDecision, type PassState } from './pass.js';
import { type StatsOfPod, statsByUid } from './pod-usage.js';
import type { EvictionObservation, EvictionPods, EvictionStats } from './ports.js';
import { chooseFirst, rankPods } from './ranking.js';
import { isRelieved, type NodeReclaim, reclaimFor } from './reclaim.js';
import { EvictionRecorder } from './recorder.js';
import { type PressureCondition, readSignals, type SignalReadings, signalFacts } from './signals.js';
import { isMemoryNear, withContainerFs } from './thresholds.js';

export interface EvictionSettings {
  readonly thresholds: readonly EvictionThreshold[];
  readonly transitionPeriodMs: number;
  readonly maxPodGraceSeconds: number;
  /** Whether pods are held to their limits of local storage. */
  readonly limitsLocalStorage: boolean;
  /** Whether volumes in memory may be resized, and are not held to their limits here; default no. */
  readonly resizesMemoryVolumes?: boolean;
  /** Whether the files of containers may lie apart from their images (gate KubeletSeparateDiskGC); default yes. */
  readonly separatesDisks?: boolean;
  /** Whether to look more often while memory is nearly used up. */
  readonly watchesMemory: boolean;
}

export interface EvictionManagerOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly nodeName: string;
  readonly settings: EvictionSettings;
  readonly stats: EvictionStats;
  readonly pods: EvictionPods;
  readonly reclaim: Readonly<Record<NodeReclaim, () => Promise<void>>>;
  readonly metrics: EvictionMetrics;
}

const passPeriodMs = 10_000;
const urgentPeriodMs = 1_000;
/** How long evicted pods may take to be gone before the next pass is made all the same. */
const goneLimitMs = 30_000;
const goneLookMs = 1_000;

/** What is known once the file systems are. */
interface LaidOut {
  readonly layout: FileSystemLayout;
  readonly thresholds: readonly EvictionThreshold[];
}

/** What a pass looks at that has something to do. */
interface PassContext extends LaidOut {
  readonly readings: SignalReadings;
  readonly statsOf: StatsOfPod;
  readonly candidates: readonly Pod[];
}

export class EvictionManager {
  readonly #options: EvictionManagerOptions;
  readonly #recorder: EvictionRecorder;
  #state: PassState = firstPass;
  #met: readonly EvictionThreshold[] = [];
  #conditions: readonly PressureCondition[] = [];
  #laidOut: LaidOut | undefined;
  /** Pods that were evicted and are not gone yet. */
  #evicting: ReadonlySet<string> = new Set();
  #isUrgent = false;

  constructor(options: EvictionManagerOptions) {
    this.#options = options;
    this.#recorder = new EvictionRecorder(options.timeline, options.nodeName);
  }

  /** The pressure that the node is under; none before the first pass. */
  get conditions(): readonly PressureCondition[] {
    return this.#conditions;
  }

  /** Rejects with `Cancelled` at the end. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, settings } = this.#options;
    if (settings.thresholds.length === 0 && !settings.limitsLocalStorage) return;
    for (;;) {
      const evicted = await this.#tryPass(signal);
      if (evicted.length > 0) await this.#untilGone(evicted, signal);
      else await sleep(clock, this.#isUrgent ? urgentPeriodMs : passPeriodMs, signal);
    }
  }

  /** A pass that fails must not be the last: nothing else keeps the node from running out. */
  async #tryPass(signal: AbortSignal): Promise<readonly string[]> {
    try {
      return await this.pass(signal);
    } catch (error) {
      if (isCancelled(error)) throw error;
      this.#recorder.pass({ message: 'a pass of eviction failed', error });
      return [];
    }
  }

  /** One pass; returns the pods that it evicted. */
  async pass(signal: AbortSignal): Promise<readonly string[]> {
    const { pods, settings, stats } = this.#options;
    const laidOut = await this.#layOut();
    if (laidOut === undefined) return [];
    const observation = await this.#look(stats.observe(), signal);
    if (observation === undefined) return [];
    const readings = this.#read(observation);
    const before = this.#state;
    const decision = this.#decide(laidOut, readings);
    const isHeldToLimits = settings.limitsLocalStorage && pods.active().some(hasLocalStorageLimit);
    const asksForPods = isHeldToLimits || decision.act.length > 0;
    const measured = asksForPods ? await this.#look(observation.pods(), signal) : [];
    if (measured === undefined) {
      // Nothing was done: the same readings are news for the next pass.
      this.#state = before;
      return [];
    }
    const candidates = pods.active();
    const active = new Set(candidates.map(({ metadata }) => metadata.uid));
    this.#evicting = new Set([...this.#evicting].filter((uid) => active.has(uid) && !pods.isFinished(uid)));
    const context = { ...laidOut, readings, statsOf: statsByUid(measured), candidates };
    const overLimits = isHeldToLimits ? await this.#enforceLimits(context, signal) : [];
    const evicted = overLimits.length > 0 ? overLimits : await this.#act(context, decision, signal);
    this.#recorder.pass(undefined);
    return evicted;
  }

  /** What eviction would do now, with its own settings or with others. Changes nothing; rejects when it cannot see the node. */
  async forecast(settings: EvictionSettings = this.#options.settings): Promise<EvictionForecast> {
    const { stats, pods, clock } = this.#options;
    const [layout, observation] = await Promise.all([
      this.#laidOut?.layout ??
        stats.fileSystems().then((figures) => decideLayout(figures, settings.separatesDisks)),
      stats.observe(),
    ]);
    const measured = await observation.pods();
    return forecastEviction({
      state: this.#state,
      settings,
      thresholds:
        settings === this.#options.settings && this.#laidOut !== undefined
          ? this.#laidOut.thresholds
          : withContainerFs(settings.thresholds, layout, settings.separatesDisks).thresholds,
      layout,
      figures: observation.figures,
      stats: measured,
      candidates: pods.active(),
      isBeingEvicted: (uid) => this.#evicting.has(uid),
      nowMs: clock.now(),
    });
  }

  async #layOut(): Promise<LaidOut | undefined> {
    if (this.#laidOut !== undefined) return this.#laidOut;
    const { stats, settings } = this.#options;
    try {
      const layout = decideLayout(await stats.fileSystems(), settings.separatesDisks);
      const { thresholds, ignored } = withContainerFs(settings.thresholds, layout, settings.separatesDisks);
      this.#laidOut = { layout, thresholds };
      this.#recorder.layout(layout, ignored);
      return this.#laidOut;
    } catch (error) {
      if (isCancelled(error)) throw error;
      this.#recorder.pass({ message: 'eviction does not know the file systems of the node', error });
      return undefined;
    }
  }

  /** Undefined, and told of, where there is nothing to see. */
  async #look<T>(looking: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
    try {
      const seen = await looking;
      throwIfCancelled(signal);
      return seen;
    } catch (error) {
      if (isCancelled(error)) throw error;
      this.#recorder.pass({ message: 'eviction cannot see the node', error });
      return undefined;
    }
  }

  #read({ figures }: EvictionObservation): SignalReadings {
    return readSignals({ ...figures, nowMs: this.#options.clock.now() });
  }

  #decide({ thresholds }: LaidOut, readings: SignalReadings): PassDecision {
    const { clock, settings } = this.#options;
    const decision = decidePass(this.#state, {
      thresholds,
      readings,
      // Periods are measured by the clock that nobody sets.
      nowMs: clock.monotonic(),
      transitionPeriodMs: settings.transitionPeriodMs,
    });
    this.#recorder.thresholds(this.#met, decision.met, readings);
    this.#recorder.unread(thresholds, readings);
    this.#met = decision.met;
    this.#state = decision.next;
    this.#conditions = decision.conditions;
    this.#isUrgent =
      settings.watchesMemory && thresholds.some((threshold) => isMemoryNear(threshold, readings));
    return decision;
  }

  /** Ends every pod that uses more local storage than it may. */
  async #enforceLimits({ candidates, statsOf, layout }: PassContext, signal: AbortSignal): Promise<string[]> {
    const { resizesMemoryVolumes } = this.#options.settings;
    const over = candidates.flatMap((pod) => {
      const stats = this.#evicting.has(pod.metadata.uid) ? undefined : statsOf(pod.metadata.uid);
      const excess = stats && localStorageExcess(pod, stats, { ...layout, resizesMemoryVolumes });
      return excess === undefined ? [] : [{ pod, excess }];
    });
    const graceSeconds = immediateGraceSeconds;
    await Promise.all(
      over.map(async ({ pod, excess: { label, message, usedBytes, limitBytes } }) => {
        const because = `it uses ${usedBytes} bytes, the limit is ${limitBytes}`;
        this.#recorder.evicted(pod, { label, message, because, graceSeconds });
        this.#options.metrics.evictions.inc({ eviction_signal: label });
        await this.#kill(pod, { graceSeconds, message, isDisruption: false }, signal);
      }),
    );
    return over.map(({ pod }) => pod.metadata.uid);
  }

  async #act(context: PassContext, { act }: PassDecision, signal: AbortSignal): Promise<string[]> {
    const { clock, metrics, settings } = this.#options;
    const [first] = act;
    if (first === undefined) return [];
    this.#recorder.attempt(first.signal);
    if (await this.#reclaim(first, context, signal)) return [];
    const { candidates: pods, layout, statsOf, readings } = context;
    if (pods.length === 0) return [];
    const ranking = rankPods({ signal: first.signal, layout, pods, statsOf });
    for (const { signal: acted } of act) {
      const atMs = readings.get(acted)?.atMs;
      if (atMs === undefined) continue;
      const ageSeconds = Math.max(clock.now() - atMs, 0) / 1000;
      metrics.statsAge.observe(ageSeconds, { eviction_signal: acted });
    }
    const choice = chooseFirst(ranking, (uid) => this.#evicting.has(uid));
    this.#recorder.ranked(first.signal, ranking, choice);
    if (choice.chosen === undefined) return [];
    const { pod, because } = choice.chosen;
    const { resource } = signalFacts[first.signal];
    const stats = statsOf(pod.metadata.uid);
    const { message, annotations } = evictionText({ pod, stats, resource, act, readings });
    const graceSeconds = evictionGraceSeconds(first, pod, settings.maxPodGraceSeconds);
    this.#recorder.evicted(pod, { label: first.signal, message, because, graceSeconds, annotations });
    metrics.evictions.inc({ eviction_signal: first.signal });
    await this.#kill(pod, { graceSeconds, message, isDisruption: true }, signal);
    return [pod.metadata.uid];
  }

  /** Frees what the node can free by itself; true if that is enough. */
  async #reclaim(
    { signal: starved }: EvictionThreshold,
    { layout, thresholds }: PassContext,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { clock, reclaim, stats } = this.#options;
    const steps = reclaimFor(starved, layout);
    if (steps.length === 0) return false;
    const startMs = clock.monotonic();
    for (const step of steps) {
      try {
        await reclaim[step]();
      } catch (error) {
        if (isCancelled(error)) throw error;
        this.#recorder.notFreed(step, error);
      }
      throwIfCancelled(signal);
    }
    const observation = await this.#look(stats.observe(), signal);
    const relieved = observation !== undefined && isRelieved(thresholds, this.#read(observation));
    this.#recorder.reclaimed(starved, steps, relieved, clock.monotonic() - startMs);
    return relieved;
  }

  /** A pod that does not stop in time counts as evicted: whoever stops it tells of that, and goes on. */
  async #kill(pod: Pod, kill: Parameters<EvictionPods['kill']>[1], signal: AbortSignal): Promise<void> {
    this.#evicting = new Set([...this.#evicting, pod.metadata.uid]);
    try {
      await this.#options.pods.kill(pod, kill, signal);
    } catch (error) {
      if (isCancelled(error)) throw error;
    }
  }

  async #untilGone(uids: readonly string[], signal: AbortSignal): Promise<void> {
    const { clock, pods } = this.#options;
    const latestMs = clock.monotonic() + goneLimitMs;
    while (!uids.every((uid) => pods.isFinished(uid)) && clock.monotonic() < latestMs) {
      await sleep(clock, goneLookMs, signal);
    }
  }
}
