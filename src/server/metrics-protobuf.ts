/** A page of metrics as protobuf messages, the one form in which native histograms can be told. */
import { WireType, WireWriter } from '../grpc/index.js';
import { type NativeBuckets, zeroThreshold } from '../metrics/index.js';

/** By series, such as `calls_seconds{verb="get"}`. */
export type NativeHistograms = ReadonlyMap<string, NativeBuckets>;

const mediaType = 'application/vnd.google.protobuf';
const messageName = 'io.prometheus.client.MetricFamily';
export const protobufContentType = `${mediaType}; proto=${messageName}; encoding=delimited`;

/** Whether the client asks for protobuf, and wants text no more than that. */
export function prefersProtobuf(accept: string | undefined): boolean {
  let [protobuf, text] = [0, 0];
  for (const item of (accept ?? '').split(',')) {
    const [type = '', ...parameters] = item.split(';').map((part) => part.trim());
    const named = new Map(parameters.map((part): [string, string] => split(part, '=')));
    const quality = Number(named.get('q') ?? 1) || 0;
    const isFamily = named.get('proto') === messageName && named.get('encoding') === 'delimited';
    if (type === mediaType && isFamily) protobuf = Math.max(protobuf, quality);
    if (type === 'text/plain') text = Math.max(text, quality);
  }
  return protobuf > 0 && protobuf >= text;
}

/** Each family is a message with its length before it. */
export function protobufOf(parts: Iterable<string>, natives: NativeHistograms): Buffer {
  const writer = new WireWriter(64 * 1024);
  let family: PageFamily | undefined;
  const end = (): void => {
    if (family !== undefined && family.metrics.size > 0) writeFamily(writer, family, natives);
  };
  let help = '';
  for (const line of linesOf(parts)) {
    const [, word, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) ?(.*)$/.exec(line) ?? [];
    if (word === 'HELP') help = plain(rest);
    if (word === 'TYPE') {
      end();
      family = { name, help, type: rest, metrics: new Map() };
      help = '';
    }
    if (word === undefined && family !== undefined) addSample(family, line);
  }
  end();
  return writer.finish();
}

interface PageFamily {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  /** By their labels as text, without `le`. */
  readonly metrics: Map<string, PageMetric>;
}

interface PageMetric {
  readonly labels: readonly (readonly [name: string, value: string])[];
  timestampMs: number | undefined;
  value: number;
  count: number;
  readonly buckets: { readonly bound: number; readonly count: number }[];
}

function* linesOf(parts: Iterable<string>): Generator<string> {
  let rest = '';
  for (const part of parts) {
    const lines = `${rest}${part}`.split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  if (rest !== '') yield rest;
}

function addSample(family: PageFamily, line: string): void {
  const [, name, labelText = '', valueText = '', timestamp] =
    /^([^\s{]+)(?:\{(.*)\})? (\S+)(?: (-?\d+))?$/.exec(line) ?? [];
  if (name === undefined) return;
  const labels: [string, string][] = [];
  let bound = Number.NaN;
  for (const [, label = '', text = ''] of labelText.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) {
    if (label === 'le' && name.endsWith('_bucket')) bound = numberOf(text);
    else labels.push([label, plain(text)]);
  }
  const key = labelText.replace(/,?le="[^"]*"$/, '');
  let metric = family.metrics.get(key);
  if (metric === undefined) {
    metric = { labels, timestampMs: undefined, value: 0, count: 0, buckets: [] };
    family.metrics.set(key, metric);
  }
  if (timestamp !== undefined) metric.timestampMs = Number(timestamp);
  const value = numberOf(valueText);
  if (family.type !== 'histogram' || name === `${family.name}_sum`) metric.value = value;
  else if (name === `${family.name}_count`) metric.count = value;
  else metric.buckets.push({ bound, count: value });
}

/** The field of a metric and its kind in a family, by the word in the text. */
const kinds: Readonly<Record<string, { readonly type: number; readonly field: number }>> = {
  counter: { type: 0, field: 3 },
  gauge: { type: 1, field: 2 },
  untyped: { type: 3, field: 5 },
  histogram: { type: 4, field: 7 },
};
const untyped = { type: 3, field: 5 };

function writeFamily(
  writer: WireWriter,
  { name, help, type, metrics }: PageFamily,
  natives: NativeHistograms,
): void {
  const kind = kinds[type] ?? untyped;
  writer.block(() => {
    writeText(writer, 1, name);
    writeText(writer, 2, help);
    writer.tag(3, WireType.VARINT);
    writer.uint32(kind.type);
    for (const [key, metric] of metrics) {
      writeBlock(writer, 4, () => {
        for (const [label, value] of metric.labels) {
          writeBlock(writer, 1, () => {
            writeText(writer, 1, label);
            writeText(writer, 2, value);
          });
        }
        writeBlock(writer, kind.field, () => {
          if (type === 'histogram')
            writeHistogram(writer, metric, natives.get(key === '' ? name : `${name}{${key}}`));
          else writeDouble(writer, 1, metric.value);
        });
        if (metric.timestampMs === undefined) return;
        writer.tag(6, WireType.VARINT);
        writer.int64(metric.timestampMs);
      });
    }
  });
}

function writeHistogram(
  writer: WireWriter,
  { count, value, buckets }: PageMetric,
  native: NativeBuckets | undefined,
): void {
  writeCount(writer, 1, count);
  writeDouble(writer, 2, value);
  // The last bucket has no end, and the count tells of it.
  for (const bucket of buckets.filter(({ bound }) => bound !== Number.POSITIVE_INFINITY)) {
    writeBlock(writer, 3, () => {
      writeCount(writer, 1, bucket.count);
      writeDouble(writer, 2, bucket.bound);
    });
  }
  if (native === undefined) return;
  writer.tag(5, WireType.VARINT);
  writer.uint32(zigzag(native.schema));
  writeDouble(writer, 6, zeroThreshold);
  writeCount(writer, 7, native.zeroCount);
  writeSpans(writer, { spans: 9, deltas: 10 }, native.negative);
  // Without any span a reader would take the histogram for a classic one.
  if (native.positive.length === 0) writeSpan(writer, 12, 0, 0);
  writeSpans(writer, { spans: 12, deltas: 13 }, native.positive);
}

/** Runs of neighbours, and then how each count differs from the one before. */
function writeSpans(
  writer: WireWriter,
  fields: { readonly spans: number; readonly deltas: number },
  buckets: readonly (readonly [index: number, count: number])[],
): void {
  let next = 0;
  const runs: { offset: number; length: number }[] = [];
  for (const [index] of buckets) {
    const run = runs.at(-1);
    if (run !== undefined && index === next) run.length++;
    else runs.push({ offset: index - next, length: 1 });
    next = index + 1;
  }
  for (const { offset, length } of runs) writeSpan(writer, fields.spans, offset, length);
  if (buckets.length === 0) return;
  writeBlock(writer, fields.deltas, () => {
    let before = 0;
    for (const [, count] of buckets) {
      writer.uint64(zigzag(count - before));
      before = count;
    }
  });
}

function writeSpan(writer: WireWriter, field: number, offset: number, length: number): void {
  writeBlock(writer, field, () => {
    writer.tag(1, WireType.VARINT);
    writer.uint32(zigzag(offset));
    writer.tag(2, WireType.VARINT);
    writer.uint32(length);
  });
}

/** Small numbers of either sign stay short. */
function zigzag(value: number): number {
  return value >= 0 ? 2 * value : -2 * value - 1;
}

function writeBlock(writer: WireWriter, field: number, write: () => void): void {
  writer.tag(field, WireType.BYTES);
  writer.block(write);
}

function writeText(writer: WireWriter, field: number, text: string): void {
  writer.tag(field, WireType.BYTES);
  writer.string(text);
}

function writeDouble(writer: WireWriter, field: number, value: number): void {
  writer.tag(field, WireType.FIXED64);
  writer.double(value);
}

function writeCount(writer: WireWriter, field: number, count: number): void {
  writer.tag(field, WireType.VARINT);
  writer.uint64(count);
}

function numberOf(text: string): number {
  if (text === '+Inf') return Number.POSITIVE_INFINITY;
  return text === '-Inf' ? Number.NEGATIVE_INFINITY : Number(text);
}

function plain(text: string): string {
  return text.replace(/\\(.)/g, (_, character: string) => (character === 'n' ? '\n' : character));
}

function split(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + mark.length)];
}
