/** The bytes of D-Bus: values, signatures, headers, and what no peer may send. */
import { describe, expect, it } from 'vitest';
import { parseBusAddress, systemBusSockets } from './address.js';
import { firstAuthLine, nextAuthStep } from './auth.js';
import { DbusFormatError } from './errors.js';
import { dbusLimits } from './limits.js';
import { marshal } from './marshal.js';
import { type DbusMessage, DbusMessageReader, encodeMessage } from './message.js';
import { parseSignature } from './signature.js';
import { unmarshal } from './unmarshal.js';
import type { DbusValue } from './values.js';

const bytesOf = (hex: string): Buffer => Buffer.from(hex.replaceAll(' ', ''), 'hex');

describe('values', () => {
  it.each<[rule: string, signature: string, values: readonly DbusValue[], hex: string]>([
    ['a byte', 'y', [255], 'ff'],
    ['numbers stand on multiples of their size', 'yqyu', [1, 2, 3, 4], '01 00 0200 03 000000 04000000'],
    ['negative numbers', 'ni', [-2, -3], 'feff 0000 fdffffff'],
    ['a boolean is a number of four bytes', 'bb', [true, false], '01000000 00000000'],
    [
      'a number of eight bytes stands on eight',
      'ut',
      [1, 2n ** 64n - 1n],
      '01000000 00000000 ffffffffffffffff',
    ],
    ['a signed number of eight bytes', 'x', [-1n], 'ffffffffffffffff'],
    ['a double', 'd', [1.5], '000000000000f83f'],
    ['a text has its length and a zero', 's', ['foo'], '03000000 666f6f 00'],
    ['a path is a text', 'o', ['/a/b_1'], '06000000 2f612f625f31 00'],
    ['a signature has a length of one byte', 'g', ['a{sv}'], '05 617b73767d 00'],
    ['bytes', 'ay', [Buffer.from([0x0f, 3])], '02000000 0f03'],
    [
      'texts in an array are padded between',
      'as',
      [['a', 'b']],
      '0e000000 01000000 61 00 0000 01000000 62 00',
    ],
    ['an empty array of structs has its padding', 'a(sv)', [[]], '00000000 00000000'],
    [
      'the length of an array leaves the padding before its first element out',
      'at',
      [[5n]],
      '08000000 00000000 0500000000000000',
    ],
    [
      'a variant says its type',
      'v',
      [{ signature: 't', value: 300n }],
      '01 74 00 0000000000 2c01000000000000',
    ],
    [
      'properties of a unit',
      'a(sv)',
      [[['Wants', { signature: 'as', value: ['x'] }]]],
      '1a000000 00000000 05000000 57616e7473 00 02 6173 00 0000 06000000 01000000 78 00',
    ],
    [
      'a dict is an array of its entries',
      'a{ys}',
      [[[1, 'a']]],
      '0a000000 00000000 01 000000 01000000 61 00',
    ],
  ])('%s', (_rule, signature, values, hex) => {
    expect(marshal(signature, values).toString('hex')).toBe(hex.replaceAll(' ', ''));
    expect(unmarshal(signature, bytesOf(hex), true)).toEqual(values);
  });

  it('reads the other byte order', () => {
    expect(unmarshal('qut', bytesOf('0102 0000 00000003 0000000000000004'), false)).toEqual([258, 3, 4n]);
  });

  it.each<[rule: string, signature: string, value: DbusValue]>([
    ['a number out of range', 'y', 256],
    ['a fraction', 'u', 1.5],
    ['a negative number', 't', -1n],
    ['a number beyond 64 bits', 't', 2n ** 64n],
    ['a number where a big one belongs', 't', 1],
    ['a text with a zero', 's', 'a\0b'],
    ['half a character', 's', '\ud800'],
    ['a path that ends with a slash', 'o', '/a/'],
    ['an unknown type', 'g', 'z'],
    ['a struct that lacks a field', '(ss)', ['a']],
    ['a variant of two types', 'v', { signature: 'ss', value: 'a' }],
    ['a text for an array', 'as', 'a'],
    ['bytes for texts', 'as', Buffer.from('a')],
  ])('refuses to write %s', (_rule, signature, value) => {
    expect(() => marshal(signature, [value])).toThrow(DbusFormatError);
  });

  it('refuses to write more than a body may have', () => {
    expect(() => marshal('s', ['x'.repeat(dbusLimits.bodyBytes)])).toThrow(DbusFormatError);
  });

  it.each<[rule: string, signature: string, hex: string]>([
    ['a text that is longer than its message', 's', 'ff000000 61 00'],
    ['a text without its zero', 's', '01000000 61 62'],
    ['a text with a zero inside', 's', '02000000 6100 00'],
    ['a text that is not UTF-8', 's', '01000000 ff 00'],
    ['a boolean of 2', 'b', '02000000'],
    ['padding that is not zero', 'yu', '01 000100 04000000'],
    ['an array that is longer than its message', 'ay', 'ffffffff 01'],
    ['an element that reaches beyond its array', 'au', '06000000 01000000 02000000'],
    ['a malformed path', 'o', '01000000 61 00'],
    ['bytes after the last value', 'y', '01 02'],
    ['a value that is cut', 'u', '010000'],
    ['a variant without a type', 'v', '00 00'],
  ])('refuses to read %s', (_rule, signature, hex) => {
    expect(() => unmarshal(signature, bytesOf(hex), true)).toThrow(DbusFormatError);
  });

  it.each<[rule: string, signature: string]>([
    ['an unknown code', 'sz'],
    ['an array of nothing', 'a'],
    ['an empty struct', '()'],
    ['an open struct', '(s'],
    ['a closed struct that nobody opened', 's)'],
    ['a dict with a struct as its key', 'a{(s)s}'],
    ['a dict entry with three fields', 'a{sss}'],
    ['a dict entry outside an array', '{ss}'],
    ['more than 255 characters', 'y'.repeat(256)],
    ['more nesting than allowed', `${'a'.repeat(dbusLimits.depth + 1)}y`],
  ])('a signature: refuses %s', (_rule, signature) => {
    expect(() => parseSignature(signature)).toThrow(DbusFormatError);
  });

  it('refuses variants in variants beyond the depth', () => {
    // Each variant is a signature of one type: the next variant.
    const nested = (levels: number): Buffer =>
      Buffer.concat([...Array(levels).fill(bytesOf('01 76 00')), bytesOf('01 79 00 07')]);
    expect(unmarshal('v', nested(dbusLimits.depth - 1), true)).toHaveLength(1);
    expect(() => unmarshal('v', nested(dbusLimits.depth), true)).toThrow(DbusFormatError);
  });
});

const hello = bytesOf(
  [
    '6c 01 00 01 00000000 01000000 6d000000',
    '01 01 6f 00 15000000 2f6f72672f667265656465736b746f702f44427573 00 0000',
    '02 01 73 00 14000000 6f72672e667265656465736b746f702e44427573 00 000000',
    '03 01 73 00 05000000 48656c6c6f 00 0000',
    '06 01 73 00 14000000 6f72672e667265656465736b746f702e44427573 00 000000',
  ].join(' '),
);

describe('messages', () => {
  it('writes the first call as every client does', () => {
    const bytes = encodeMessage({
      kind: 'call',
      serial: 1,
      path: '/org/freedesktop/DBus',
      interface: 'org.freedesktop.DBus',
      member: 'Hello',
      destination: 'org.freedesktop.DBus',
    });
    expect(bytes.toString('hex')).toBe(hello.toString('hex'));
  });

  it('reads messages in chunks of any size', () => {
    const signal = encodeMessage({
      kind: 'signal',
      serial: 2,
      path: '/a',
      interface: 'a.b',
      member: 'C',
      signature: 'ub',
      body: [7, true],
    });
    const bytes = Buffer.concat([hello, signal, hello]);
    for (const size of [1, 3, 16, 1000]) {
      const reader = new DbusMessageReader();
      const members: unknown[] = [];
      for (let at = 0; at < bytes.length; at += size)
        for (const message of reader.read(bytes.subarray(at, at + size)))
          members.push([message.member, ...message.readBody()]);
      expect(members).toEqual([['Hello'], ['C', 7, true], ['Hello']]);
    }
  });

  it.each<[rule: string, change: (bytes: Buffer) => void]>([
    ['no byte order', (bytes) => bytes.writeUInt8(0, 0)],
    ['the type 0', (bytes) => bytes.writeUInt8(0, 1)],
    ['another version', (bytes) => bytes.writeUInt8(2, 3)],
    ['the serial 0', (bytes) => bytes.writeUInt32LE(0, 8)],
    ['more than 128 MiB', (bytes) => bytes.writeUInt32LE(129 << 20, 4)],
    ['a field of another type', (bytes) => bytes.write('s', 18)],
    ['the field 0', (bytes) => bytes.writeUInt8(0, 16)],
    ['no path', (bytes) => bytes.writeUInt8(20, 16)],
  ])('refuses a message with %s', (_rule, change) => {
    const bytes = Buffer.from(hello);
    change(bytes);
    expect(() => [...new DbusMessageReader().read(bytes)]).toThrow(DbusFormatError);
  });

  it('ignores kinds of messages and fields that it does not know', () => {
    const unknownKind = Buffer.from(hello);
    unknownKind.writeUInt8(9, 1);
    const unknownField = Buffer.from(hello);
    // The interface, which a call need not have.
    unknownField.writeUInt8(99, 56 - 8);
    const messages = [...new DbusMessageReader().read(Buffer.concat([unknownKind, unknownField]))];
    expect(messages.map(({ interface: name, member }) => [name, member])).toEqual([[undefined, 'Hello']]);
  });

  it('skips what is too long without keeping it, and reads on', () => {
    const header = (bodyBytes: number, fieldsBytes: number): Buffer => {
      const fixed = Buffer.from(hello.subarray(0, 16));
      fixed.writeUInt32LE(bodyBytes, 4);
      if (fieldsBytes > 0) fixed.writeUInt32LE(fieldsBytes, 12);
      return fixed;
    };
    const bodyBytes = dbusLimits.bodyBytes + 1;
    const longBody = Buffer.concat([header(bodyBytes, 0), hello.subarray(16), Buffer.alloc(bodyBytes)]);
    const fieldsBytes = dbusLimits.headerBytes + 8;
    const longHeader = Buffer.concat([header(0, fieldsBytes), Buffer.alloc(fieldsBytes, 7)]);
    const reader = new DbusMessageReader();
    const bytes = Buffer.concat([longBody, longHeader, hello]);
    const messages: DbusMessage[] = [];
    for (let at = 0; at < bytes.length; at += 5000)
      messages.push(...reader.read(bytes.subarray(at, at + 5000)));
    expect(messages.map(({ member }) => member)).toEqual(['Hello', 'Hello']);
    expect(() => messages[0]?.readBody()).toThrow(DbusFormatError);
    expect(messages[1]?.readBody()).toEqual([]);
  });
});

describe('authentication', () => {
  it('says the user id in hexadecimal digits of its decimal ones', () => {
    expect(firstAuthLine(1000)).toBe('AUTH EXTERNAL 31303030');
  });

  it.each<[state: 'named' | 'unnamed', line: string, expected: object]>([
    ['named', 'OK 0123', { kind: 'accepted' }],
    [
      'named',
      'REJECTED EXTERNAL DBUS_COOKIE_SHA1',
      { kind: 'send', line: 'AUTH EXTERNAL', state: 'unnamed' },
    ],
    ['unnamed', 'DATA', { kind: 'send', line: 'DATA', state: 'unnamed' }],
    ['unnamed', 'REJECTED EXTERNAL', { kind: 'refused' }],
    ['named', 'REJECTED', { kind: 'refused' }],
    ['named', 'REJECTED ANONYMOUS', { kind: 'refused' }],
    ['named', 'ERROR "what"', { kind: 'refused' }],
    ['named', '', { kind: 'refused' }],
  ])('%s: %s', (state, line, expected) => {
    expect(nextAuthStep(state, line)).toMatchObject(expected);
  });
});

describe('addresses', () => {
  it.each<[address: string, sockets: readonly string[] | RegExp]>([
    ['unix:path=/run/dbus/system_bus_socket', ['/run/dbus/system_bus_socket']],
    ['unix:abstract=/tmp/bus,guid=0123', ['\0/tmp/bus']],
    ['unix:path=/tmp/a%20b', ['/tmp/a b']],
    ['tcp:host=localhost,port=1;unix:path=/a;unix:path=/b', ['/a', '/b']],
    ['tcp:host=localhost,port=1', /DBUS_SYSTEM_BUS_ADDRESS/],
    ['unix:path=/a%00b', /DBUS_SYSTEM_BUS_ADDRESS/],
    ['unix:path=%', /DBUS_SYSTEM_BUS_ADDRESS/],
    ['nonsense', /DBUS_SYSTEM_BUS_ADDRESS/],
  ])('%s', (address, sockets) => {
    if (sockets instanceof RegExp) expect(() => parseBusAddress(address)).toThrow(sockets);
    else expect(parseBusAddress(address)).toEqual(sockets);
  });

  it('is the usual one where the environment names none', () => {
    expect(systemBusSockets({})).toEqual(['/var/run/dbus/system_bus_socket']);
    expect(systemBusSockets({ DBUS_SYSTEM_BUS_ADDRESS: 'unix:path=/x' })).toEqual(['/x']);
  });
});
