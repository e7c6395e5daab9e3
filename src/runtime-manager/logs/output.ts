/** Writes log records to the requested streams, with optional time prefixes and a limit on all bytes. */
import { formatRecordTime, type LogRecord, type LogStream } from './format.js';
import type { PodLogOptions } from './options.js';

/** Applies back-pressure: the next write waits until this one is done. */
export interface ContainerLogSink {
  write(bytes: Buffer): Promise<void>;
}

/** A stream without a sink was not requested. */
export type LogSinks = { readonly [stream in LogStream]?: ContainerLogSink | undefined };

const newline = 0x0a;
/** Small records are batched up to this many bytes. */
const batchBytes = 64 * 1024;

export class LogOutput {
  readonly #options: Pick<PodLogOptions, 'sinceMs' | 'timestamps'>;
  readonly #sinks: LogSinks;
  readonly #sinceNs: bigint | undefined;
  #remainingBytes: number;
  #startsLine = true;
  #batch: Buffer[] = [];
  #batchedBytes = 0;
  #batchSink: ContainerLogSink | undefined;

  constructor(options: Pick<PodLogOptions, 'sinceMs' | 'timestamps' | 'limitBytes'>, sinks: LogSinks) {
    this.#options = options;
    this.#sinks = sinks;
    this.#remainingBytes = options.limitBytes ?? Number.POSITIVE_INFINITY;
    this.#sinceNs =
      options.sinceMs === undefined ? undefined : BigInt(Math.ceil(options.sinceMs * 1e3)) * 1000n;
  }

  /** The byte limit is reached. */
  get isFull(): boolean {
    return this.#remainingBytes <= 0;
  }

  /** May buffer the record until `flush`. */
  async write(record: LogRecord): Promise<void> {
    const { content } = record;
    const startsLine = this.#startsLine;
    this.#startsLine = content.length === 0 || content[content.length - 1] === newline;
    const sink = this.#sinks[record.stream];
    if (sink === undefined || (this.#sinceNs !== undefined && record.timestampNs < this.#sinceNs)) return;
    if (sink !== this.#batchSink) await this.flush();
    this.#batchSink = sink;
    if (this.#options.timestamps && startsLine)
      this.#add(Buffer.from(`${formatRecordTime(record.timestamp)} `));
    this.#add(content);
    if (this.#batchedBytes >= batchBytes) await this.flush();
  }

  async flush(): Promise<void> {
    if (this.#batchedBytes === 0 || this.#batchSink === undefined) return;
    const bytes = Buffer.concat(this.#batch);
    this.#batch = [];
    this.#batchedBytes = 0;
    await this.#batchSink.write(bytes);
  }

  #add(bytes: Buffer): void {
    const allowed = bytes.length > this.#remainingBytes ? bytes.subarray(0, this.#remainingBytes) : bytes;
    if (allowed.length === 0) return;
    this.#batch.push(allowed);
    this.#batchedBytes += allowed.length;
    this.#remainingBytes -= allowed.length;
  }
}
