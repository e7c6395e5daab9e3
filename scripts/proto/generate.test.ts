/** The generator: what it makes of a proto with every feature, and what it refuses. */
import { describe, expect, expectTypeOf, it } from 'vitest';
import type { Init } from '../../src/grpc/index.js';
import {
  Volume,
  Volume_Block,
  Volume_Event,
  Volume_Event_Mode,
  Volume_Mode,
  Volumes,
} from './gen/every-feature.js';
import { generateModules } from './generate.js';

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const bytes = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');

const everything: Volume = {
  volumeId: 'v',
  mode: Volume_Mode.READ_ONLY,
  modes: [Volume_Mode.NEGATIVE, Volume_Mode.UNKNOWN],
  events: [
    {
      mode: Volume_Event_Mode.REMOVED,
      volumeMode: Volume_Mode.READER,
      at: { seconds: 1, nanos: 2 },
      before: undefined,
    },
  ],
  labels: { a: 'b' },
  eventsByName: { e: Volume_Event.create({ before: { volumeId: 'w' } }) },
  shareId: '',
  capacity: 0,
  wantedMode: Volume_Mode.UNKNOWN,
  accessType: { case: 'block', value: { raw: false, counts: { x: -1 } } },
  size: { case: 'bytesTotal', value: 2n ** 60n },
  note: { value: 'n' },
  nodes: [0, -1],
  token: new Uint8Array([0, 255]),
  mask: 2n ** 64n - 1n,
  share: 0.5,
  stamp: 2n ** 63n,
};

describe('a generated message', () => {
  it('keeps everything on a round trip', () => {
    expect(Volume.decode(Volume.encode(everything))).toStrictEqual(everything);
  });

  it('has its full proto name, and nested types the names of all that they are in', () => {
    expect([Volume.name, Volume_Block.name]).toEqual(['example.v1.Volume', 'example.v1.Volume.Block']);
  });

  it.each<[rule: string, message: Init<Volume>, encoded: string]>([
    ['an optional scalar with the default value is present', { shareId: '' }, '42 00'],
    ['an optional number with the default value is present', { capacity: 0 }, '48 00'],
    ['an optional enum with the default value is present', { wantedMode: Volume_Mode.UNKNOWN }, '68 00'],
    ['an optional scalar that is absent is not', { shareId: undefined }, ''],
    [
      'a case of a oneof with the default value is present',
      { accessType: { case: 'path', value: '' } },
      '7a 00',
    ],
    ['so is a boolean one', { accessType: { case: 'anonymous', value: false } }, '8001 00'],
    ['a bigint one takes a number', { size: { case: 'bytesTotal', value: 5 } }, '8801 05'],
    ['a wrapper with the default value is present', { note: { value: '' } }, '9a01 00'],
  ])('%s', (_, message, encoded) => {
    expect(hex(Volume.encode(message))).toBe(encoded.replaceAll(' ', ''));
    expect(Volume.decode(bytes(encoded))).toStrictEqual(Volume.create(message));
  });

  it('takes the last case of a oneof that the wire has', () => {
    expect(Volume.decode(bytes('7a 01 61 8001 01')).accessType).toEqual({ case: 'anonymous', value: true });
  });

  it('merges a message that is the same case of a oneof twice', () => {
    const twice = Buffer.concat([
      Volume.encode({ accessType: { case: 'block', value: { counts: { a: 1 } } } }),
      Volume.encode({ accessType: { case: 'block', value: { raw: true } } }),
    ]);
    expect(Volume.decode(twice).accessType).toEqual({
      case: 'block',
      value: { raw: true, counts: { a: 1 } },
    });
  });

  it('types a oneof as a union of its cases', () => {
    expectTypeOf<NonNullable<Volume['accessType']>['case']>().toEqualTypeOf<'block' | 'path' | 'anonymous'>();
    expectTypeOf<Volume['shareId']>().toEqualTypeOf<string | undefined>();
    expectTypeOf<Volume['size']>().toEqualTypeOf<
      { case: 'bytesTotal'; value: bigint } | { case: 'blocks'; value: number } | undefined
    >();
  });
});

it('a generated service has paths, messages and streams', () => {
  const shown = Object.entries(Volumes).map(
    ([name, { path, request, response, serverStreaming }]) =>
      `${name} ${path} ${request.name} ${serverStreaming ? 'stream ' : ''}${response.name}`,
  );
  expect(shown).toEqual([
    'stage /example.v1.Volumes/Stage example.v1.Volume example.v1.Empty',
    'watch /example.v1.Volumes/Watch example.v1.Empty stream example.v1.Volume.Event',
    'ready /example.v1.Volumes/Ready example.v1.Empty google.protobuf.BoolValue',
  ]);
});

it.each<[rule: string, declared: string, message: string]>([
  ['proto2', 'syntax = "proto2";', 'a.proto:1: only proto3 is read'],
  ['an unknown type', 'message A { float x = 1; }', 'A: unknown type float'],
  ['a type of a proto that is not imported', 'message A { b.B x = 1; }', 'unknown type b.B'],
  ['requests that stream', 'service S { rpc R(stream A) returns (A); }', 'R: a stream of requests'],
  ['maps with other keys', 'message A { map<int32, string> x = 1; }', '"string" is wanted, not "int32"'],
  [
    '@bigint on a small number',
    'message A {\n int32 x = 1; // @bigint\n}',
    '@bigint on a field of type int32',
  ],
  ['a field without a number', 'message A { string x; }', '"=" is wanted, not ";"'],
  ['field number 0', 'message A { string x = 0; }', 'x: the number of a field is 1 or more'],
  ['a repeated case of a oneof', 'message A { oneof o { repeated string x = 1; } }', 'o: a case of a oneof'],
  ['a declaration that does not end', 'message A {', 'a.proto:1: unexpected end of file'],
  ['a statement that is not known', 'edition = "2023";', 'unexpected "edition"'],
  [
    'an import with the name of an own type',
    'import "b.proto"; message B { b.B x = 1; }',
    'name of a type of its own',
  ],
])('refuses %s', (_, declared, message) => {
  const sources: Readonly<Record<string, string>> = {
    'a.proto': declared,
    'b.proto': 'package b; message B {}',
  };
  const entries = [{ proto: 'a.proto' }, { proto: 'b.proto', importedAs: 'b.proto' }];
  expect(() => generateModules(entries, (proto) => sources[proto] ?? '')).toThrow(message);
});
