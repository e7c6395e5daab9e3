/** For tests: reads a profile back, as far as it was written. Casts say which fields the format has as bytes. */
import { WireReader } from '../../../grpc/index.js';

export interface ReadPprof {
  readonly valueTypes: string[];
  readonly samples: { readonly stack: string[]; readonly values: number[] }[];
  readonly durationNs: number;
  readonly period: number;
  readonly comment: string;
}

type Fields = Map<number, (number | Uint8Array)[]>;

function fieldsOf(bytes: Uint8Array): Fields {
  const reader = new WireReader(Buffer.from(bytes));
  const fields: Fields = new Map();
  while (reader.position < bytes.length) {
    const tag = reader.uint32(bytes.length);
    const values = fields.get(tag >>> 3) ?? [];
    fields.set(tag >>> 3, values);
    values.push((tag & 7) === 0 ? Number(reader.int64(bytes.length)) : reader.bytes(bytes.length));
  }
  return fields;
}

const numbers = (bytes: Uint8Array): number[] => {
  const reader = new WireReader(Buffer.from(bytes));
  const found: number[] = [];
  while (reader.position < bytes.length) found.push(Number(reader.int64(bytes.length)));
  return found;
};

export function readPprof(bytes: Uint8Array): ReadPprof {
  const profile = fieldsOf(bytes);
  const all = (fields: Fields, field: number): (number | Uint8Array)[] => fields.get(field) ?? [];
  const messages = (field: number): Fields[] =>
    all(profile, field).map((each) => fieldsOf(each as Uint8Array));
  const one = (fields: Fields, field: number): number => Number(all(fields, field)[0] ?? 0);
  const texts = all(profile, 6).map((text) => Buffer.from(text as Uint8Array).toString());
  const functions = new Map(
    messages(5).map((entry) => [
      one(entry, 1),
      `${texts[one(entry, 2)]} ${texts[one(entry, 4)]}:${one(entry, 5)}`,
    ]),
  );
  const locations = new Map(
    messages(4).map((entry) => {
      const line = fieldsOf(all(entry, 4)[0] as Uint8Array);
      return [one(entry, 1), `${functions.get(one(line, 1))} at ${one(line, 2)}`];
    }),
  );
  return {
    valueTypes: messages(1).map((type) => `${texts[one(type, 1)]}/${texts[one(type, 2)]}`),
    samples: messages(2).map((sample) => ({
      stack: numbers(all(sample, 1)[0] as Uint8Array).map((id) => locations.get(id) ?? 'unknown'),
      values: numbers(all(sample, 2)[0] as Uint8Array),
    })),
    durationNs: one(profile, 10),
    period: one(profile, 12),
    comment: texts[one(profile, 13)] ?? '',
  };
}
