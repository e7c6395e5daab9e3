/** The form of profiles that `go tool pprof` reads: stacks with values, as the protobuf message `perftools.profiles.Profile`. */
import { WireType, WireWriter } from '../../../grpc/index.js';

export interface ProfiledFunction {
  readonly name: string;
  readonly file: string;
  /** Of the function's first line; 0 if unknown. */
  readonly startLine: number;
}

export interface ProfiledFrame {
  readonly function: ProfiledFunction;
  /** 0 if unknown. */
  readonly line: number;
}

export interface ProfileSample {
  /** The innermost frame first. */
  readonly stack: readonly ProfiledFrame[];
  /** One per type of value. */
  readonly values: readonly number[];
}

export interface ProfileValueType {
  readonly type: string;
  readonly unit: string;
}

export interface StackProfile {
  readonly valueTypes: readonly ProfileValueType[];
  readonly samples: readonly ProfileSample[];
  /** What one sample stands for. */
  readonly period: ProfileValueType & { readonly value: number };
  readonly startedAtMs: number;
  readonly durationMs: number;
  readonly comment: string;
}

/** Not compressed. */
export function encodePprof(profile: StackProfile): Uint8Array {
  const tables = new PprofTables();
  const message = new WireWriter(64 * 1024);
  for (const type of profile.valueTypes) put(message, 1, valueType(tables, type));
  for (const { stack, values } of profile.samples) {
    const sample = new WireWriter();
    packed(sample, 1, (ids) => {
      for (const frame of stack) ids.uint64(tables.location(frame));
    });
    packed(sample, 2, (numbers) => {
      for (const value of values) numbers.int64(value);
    });
    put(message, 2, sample);
  }
  number(message, 9, profile.startedAtMs * 1e6);
  number(message, 10, profile.durationMs * 1e6);
  put(message, 11, valueType(tables, profile.period));
  number(message, 12, profile.period.value);
  number(message, 13, tables.text(profile.comment));
  tables.write(message);
  return message.finish();
}

function valueType(tables: PprofTables, { type, unit }: ProfileValueType): WireWriter {
  const writer = new WireWriter();
  number(writer, 1, tables.text(type));
  number(writer, 2, tables.text(unit));
  return writer;
}

/** Texts, functions and locations are written once, and named by number. */
class PprofTables {
  /** The first text must be empty. */
  readonly #texts = new Map<string, number>([['', 0]]);
  readonly #functions = new Map<string, { readonly id: number; readonly of: ProfiledFunction }>();
  readonly #locations = new Map<
    string,
    { readonly id: number; readonly functionId: number; readonly line: number }
  >();

  text(text: string): number {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    const index = this.#texts.size;
    this.#texts.set(text, index);
    return index;
  }

  location({ function: of, line }: ProfiledFrame): number {
    const functionId = this.#function(of);
    const key = `${functionId}:${line}`;
    const known = this.#locations.get(key);
    if (known !== undefined) return known.id;
    const id = this.#locations.size + 1;
    this.#locations.set(key, { id, functionId, line });
    return id;
  }

  #function(of: ProfiledFunction): number {
    const key = `${of.file}:${of.startLine}:${of.name}`;
    const known = this.#functions.get(key);
    if (known !== undefined) return known.id;
    const id = this.#functions.size + 1;
    this.#functions.set(key, { id, of });
    return id;
  }

  write(message: WireWriter): void {
    for (const { id, functionId, line } of this.#locations.values()) {
      const lineMessage = new WireWriter();
      number(lineMessage, 1, functionId);
      number(lineMessage, 2, line);
      const location = new WireWriter();
      number(location, 1, id);
      put(location, 4, lineMessage);
      put(message, 4, location);
    }
    for (const { id, of } of this.#functions.values()) {
      const entry = new WireWriter();
      number(entry, 1, id);
      number(entry, 2, this.text(of.name));
      number(entry, 3, this.text(of.name));
      number(entry, 4, this.text(of.file));
      number(entry, 5, of.startLine);
      put(message, 5, entry);
    }
    // Last, when every text has its number.
    for (const text of this.#texts.keys()) {
      message.tag(6, WireType.BYTES);
      message.bytes(Buffer.from(text));
    }
  }
}

function put(writer: WireWriter, field: number, message: WireWriter): void {
  writer.tag(field, WireType.BYTES);
  writer.bytes(message.finish());
}

function packed(writer: WireWriter, field: number, write: (numbers: WireWriter) => void): void {
  const numbers = new WireWriter();
  write(numbers);
  put(writer, field, numbers);
}

function number(writer: WireWriter, field: number, value: number): void {
  if (value === 0) return;
  writer.tag(field, WireType.VARINT);
  writer.int64(value);
}
