/** Counters, gauges and histograms with labels, and their Prometheus text form. */

import { type Stability, splitHelp } from './help-text.js';
import { NativeBuckets } from './native-buckets.js';

/** A value for each label of a metric; `L` is the union of their names. */
export type MetricLabels<L extends string = string> = Readonly<Record<L, string>>;

interface Series {
  readonly labels: MetricLabels;
}

const noLabels: MetricLabels = {};

/** Series per metric; further label sets are counted under the last label value `overflow`. */
const maxSeries = 5000;

/**
 * Every kubelet of a process has a hundred of these, and most of them count nothing: what only a scrape needs is computed
 * by it, and a map of series is made for the first one.
 */
abstract class Metric<S extends Series, L extends string> {
  /** The series of a metric without labels. */
  #only: S | undefined;
  #labelled: Map<string, S> | undefined;
  readonly #declared: string;

  /** A help text may begin with the stability: `[STABLE] Seconds that…`. Without one the metric is alpha. */
  constructor(
    readonly name: string,
    help: string,
    readonly type: 'counter' | 'gauge' | 'histogram',
    readonly labelNames: readonly L[],
  ) {
    this.#declared = help;
  }

  get stability(): Stability {
    return splitHelp(this.#declared).stability;
  }

  get help(): string {
    const { stability, text } = splitHelp(this.#declared);
    return stability === 'NONE' ? text : `[${stability}] ${text}`;
  }

  protected get series(): readonly S[] {
    return [...(this.#only === undefined ? [] : [this.#only]), ...(this.#labelled?.values() ?? [])];
  }

  protected abstract create(labels: MetricLabels): S;
  protected abstract lines(series: S, write: (line: string) => void): void;

  protected of(labels: MetricLabels): S {
    if (this.labelNames.length === 0) {
      this.#only ??= this.create(labels);
      return this.#only;
    }
    this.#labelled ??= new Map();
    const [first] = this.labelNames;
    const key =
      this.labelNames.length === 1 && first !== undefined
        ? (labels[first] ?? '')
        : this.labelNames.map((name) => labels[name] ?? '').join('\u0000');
    const known = this.#labelled.get(key);
    if (known !== undefined) return known;
    if (this.#labelled.size >= maxSeries) {
      const overflow = Object.fromEntries(this.labelNames.map((name) => [name, 'overflow']));
      const overflowKey = this.labelNames.map(() => 'overflow').join('\u0000');
      return this.#labelled.get(overflowKey) ?? this.#add(this.#labelled, overflowKey, overflow);
    }
    return this.#add(this.#labelled, key, labels);
  }

  #add(series: Map<string, S>, key: string, labels: MetricLabels): S {
    const created = this.create(labels);
    series.set(key, created);
    return created;
  }

  /** Drops the series of a label set. */
  remove(labels: MetricLabels<L>): void {
    if (this.labelNames.length === 0) this.#only = undefined;
    else this.#labelled?.delete(this.labelNames.map((name) => labels[name]).join('\u0000'));
  }

  write(write: (line: string) => void): void {
    const { series: all } = this;
    if (all.length === 0) return;
    write(`# HELP ${this.name} ${this.help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}\n`);
    write(`# TYPE ${this.name} ${this.type}\n`);
    for (const series of all) this.lines(series, write);
  }

  protected labelText(labels: MetricLabels, extra = ''): string {
    const parts = this.labelNames.map((name) => `${name}="${escapeLabel(labels[name] ?? '')}"`);
    if (extra !== '') parts.push(extra);
    return parts.length === 0 ? '' : `{${parts.join(',')}}`;
  }
}

interface NumberSeries extends Series {
  value: number;
}

export class Counter<L extends string = never> extends Metric<NumberSeries, L> {
  constructor(name: string, help: string, labelNames: readonly L[] = []) {
    super(name, help, 'counter', labelNames);
    if (labelNames.length === 0) this.of(noLabels);
  }
  protected create(labels: MetricLabels): NumberSeries {
    return { labels, value: 0 };
  }
  inc(labels: MetricLabels<L> = noLabels, by = 1): void {
    this.of(labels).value += by;
  }
  value(labels: MetricLabels<L> = noLabels): number {
    return this.of(labels).value;
  }
  protected lines(series: NumberSeries, write: (line: string) => void): void {
    write(`${this.name}${this.labelText(series.labels)} ${formatNumber(series.value)}\n`);
  }
}

export class Gauge<L extends string = never> extends Metric<NumberSeries, L> {
  constructor(name: string, help: string, labelNames: readonly L[] = []) {
    super(name, help, 'gauge', labelNames);
    if (labelNames.length === 0) this.of(noLabels);
  }
  protected create(labels: MetricLabels): NumberSeries {
    return { labels, value: 0 };
  }
  set(value: number, labels: MetricLabels<L> = noLabels): void {
    this.of(labels).value = value;
  }
  inc(labels: MetricLabels<L> = noLabels, by = 1): void {
    this.of(labels).value += by;
  }
  value(labels: MetricLabels<L> = noLabels): number {
    return this.of(labels).value;
  }
  protected lines(series: NumberSeries, write: (line: string) => void): void {
    write(`${this.name}${this.labelText(series.labels)} ${formatNumber(series.value)}\n`);
  }
}

interface HistogramSeries extends Series {
  readonly native: NativeBuckets | undefined;
  readonly counts: number[];
  sum: number;
  count: number;
}

export const defaultBuckets: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export class Histogram<L extends string = never> extends Metric<HistogramSeries, L> {
  readonly buckets: readonly number[];
  readonly #isNative: boolean;
  constructor(
    name: string,
    help: string,
    labelNames: readonly L[] = [],
    buckets: readonly number[] = defaultBuckets,
    isNative = false,
  ) {
    super(name, help, 'histogram', labelNames);
    this.buckets = buckets;
    this.#isNative = isNative;
    if (labelNames.length === 0) this.of(noLabels);
  }
  protected create(labels: MetricLabels): HistogramSeries {
    const counts = new Array<number>(this.buckets.length).fill(0);
    return { labels, counts, sum: 0, count: 0, native: this.#isNative ? new NativeBuckets() : undefined };
  }
  /** Adds those of each series, by how the text has the series. */
  addNatives(natives: Map<string, NativeBuckets>): void {
    for (const { labels, native } of this.series)
      if (native !== undefined) natives.set(`${this.name}${this.labelText(labels)}`, native);
  }
  observe(value: number, labels: MetricLabels<L> = noLabels): void {
    const series = this.of(labels);
    series.sum += value;
    series.count++;
    series.native?.observe(value);
    const index = this.buckets.findIndex((bound) => value <= bound);
    if (index >= 0) series.counts[index] = (series.counts[index] ?? 0) + 1;
  }
  count(labels: MetricLabels<L> = noLabels): number {
    return this.of(labels).count;
  }
  sum(labels: MetricLabels<L> = noLabels): number {
    return this.of(labels).sum;
  }
  protected lines(series: HistogramSeries, write: (line: string) => void): void {
    let cumulative = 0;
    this.buckets.forEach((bound, index) => {
      cumulative += series.counts[index] ?? 0;
      const le = `le="${formatNumber(bound)}"`;
      write(`${this.name}_bucket${this.labelText(series.labels, le)} ${cumulative}\n`);
    });
    write(`${this.name}_bucket${this.labelText(series.labels, 'le="+Inf"')} ${series.count}\n`);
    write(`${this.name}_sum${this.labelText(series.labels)} ${formatNumber(series.sum)}\n`);
    write(`${this.name}_count${this.labelText(series.labels)} ${series.count}\n`);
  }
}

/** What a registry knows of each metric: all but how it counts. */
export type RegisteredMetric = Pick<
  Metric<Series, string>,
  'name' | 'help' | 'stability' | 'type' | 'labelNames' | 'write'
> & { readonly buckets?: readonly number[] };

export interface RegistryOptions {
  /** Whether histograms count in narrow buckets, too (gate NativeHistograms); default no. */
  readonly nativeHistograms?: boolean;
}

export class Registry {
  readonly #nativeHistograms: boolean;
  readonly #metrics = new Map<string, RegisteredMetric>();
  readonly #shared = new Map<unknown, unknown>();
  readonly #collectors: (() => void)[] = [];
  readonly #slowCollectors: (() => Promise<void>)[] = [];

  constructor({ nativeHistograms = false }: RegistryOptions = {}) {
    this.#nativeHistograms = nativeHistograms;
  }

  counter<const L extends string = never>(
    name: string,
    help: string,
    labelNames: readonly L[] = [],
  ): Counter<L> {
    return this.#register(name, new Counter(name, help, labelNames));
  }

  gauge<const L extends string = never>(name: string, help: string, labelNames: readonly L[] = []): Gauge<L> {
    return this.#register(name, new Gauge(name, help, labelNames));
  }

  histogram<const L extends string = never>(
    name: string,
    help: string,
    labelNames: readonly L[] = [],
    buckets: readonly number[] = defaultBuckets,
  ): Histogram<L> {
    return this.#register(name, new Histogram(name, help, labelNames, buckets, this.#nativeHistograms));
  }

  /** What `create` declares here; for metrics that more than one part counts, each of which may ask first. */
  once<M>(create: (registry: Registry) => M): M {
    // A key is only ever set to what that same function returned.
    if (this.#shared.has(create)) return this.#shared.get(create) as M;
    const created = create(this);
    this.#shared.set(create, created);
    return created;
  }

  /** Every metric, also those without a series yet. */
  metrics(): readonly RegisteredMetric[] {
    return [...this.#metrics.values()];
  }

  /** The narrow buckets of each series, by how the text has the series. */
  natives(): ReadonlyMap<string, NativeBuckets> {
    const natives = new Map<string, NativeBuckets>();
    for (const metric of this.#metrics.values()) if (metric instanceof Histogram) metric.addNatives(natives);
    return natives;
  }

  /** Runs before each scrape, for values worth computing only then. */
  onCollect(collect: () => void): void {
    this.#collectors.push(collect);
  }

  /** Like `onCollect`, for values that take time to find. Only `scrape` waits for them. */
  onScrape(collect: () => Promise<void>): void {
    this.#slowCollectors.push(collect);
  }

  /** The text form after every collector has run. */
  async scrape(): Promise<string> {
    await Promise.all(this.#slowCollectors.map((collect) => collect()));
    return this.text();
  }

  /** The text form of all metrics, sorted by name. */
  text(): string {
    for (const collect of this.#collectors) collect();
    const lines: string[] = [];
    for (const name of [...this.#metrics.keys()].sort())
      this.#metrics.get(name)?.write((line) => lines.push(line));
    return lines.join('');
  }

  #register<M extends RegisteredMetric>(name: string, metric: M): M {
    if (this.#metrics.has(name)) throw new Error(`metric ${name} is registered twice`);
    this.#metrics.set(name, metric);
    return metric;
  }
}

/**
 * As Go's `%g` has it: `le` is compared as text, so a bucket of `2.592e+06` must not be called `2592000`.
 */
export function formatNumber(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  if (value === Number.NEGATIVE_INFINITY) return '-Inf';
  const size = Math.abs(value);
  if (size === 0 || Number.isNaN(value) || (size >= 1e-4 && size < 1e6)) return String(value);
  return value.toExponential().replace(/(?<=e[+-])\d$/, '0$&');
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
