/** Messages (D-Bus Specification, "Message Protocol"): their header, and how they are cut out of a stream. */
import { ByteReader } from '../async/index.js';
import { DbusFormatError } from './errors.js';
import { dbusLimits } from './limits.js';
import { marshal } from './marshal.js';
import { type DbusType, parseSingleType } from './signature.js';
import { unmarshal, ValueReader } from './unmarshal.js';
import { type DbusValue, type DbusVariant, isVariant } from './values.js';

const typeCodes = { call: 1, reply: 2, error: 3, signal: 4 } as const;
export type MessageKind = keyof typeof typeCodes;

const fieldCodes = {
  path: [1, 'o'],
  interface: [2, 's'],
  member: [3, 's'],
  errorName: [4, 's'],
  replySerial: [5, 'u'],
  destination: [6, 's'],
  sender: [7, 's'],
  signature: [8, 'g'],
} as const;
type FieldName = keyof typeof fieldCodes;

/** What a message says about itself; which fields are there depends on its kind. */
export interface DbusHeaderFields {
  readonly path?: string;
  readonly interface?: string;
  readonly member?: string;
  readonly errorName?: string;
  readonly replySerial?: number;
  readonly destination?: string;
  readonly sender?: string;
}

export interface OutgoingMessage extends DbusHeaderFields {
  readonly kind: MessageKind;
  /** The sender wants no reply. */
  readonly isNoReply?: boolean;
  readonly serial: number;
  readonly signature?: string;
  readonly body?: readonly DbusValue[];
}

/** A message as it came. Its body is read by whoever wants it, so that nobody else pays for it. */
export interface DbusMessage extends DbusHeaderFields {
  readonly kind: MessageKind;
  readonly isNoReply: boolean;
  readonly serial: number;
  readonly signature: string;
  /** Throws DbusFormatError where the body does not fit the signature or is beyond the limits. */
  readBody(): readonly DbusValue[];
}

const fixedBytes = 16;
const protocolVersion = 1;
const noReplyFlag = 1;
/** The specification's bound; a peer that announces more does not speak the protocol. */
const longestMessageBytes = 128 * 1024 * 1024;

export function encodeMessage(message: OutgoingMessage): Buffer {
  const { kind, serial, signature = '', body = [], isNoReply = false } = message;
  const bodyBytes = marshal(signature, body);
  // Object.entries widens the keys to string; they are exactly the names above.
  const names = Object.keys(fieldCodes) as FieldName[];
  const fields = names.flatMap((name): DbusValue[] => {
    const value = name === 'signature' ? signature : message[name];
    const [code, type] = fieldCodes[name];
    return value === undefined || (name === 'signature' && value === '')
      ? []
      : [[code, { signature: type, value }]];
  });
  const header = marshal('yyyyuua(yv)', [
    'l'.charCodeAt(0),
    typeCodes[kind],
    isNoReply ? noReplyFlag : 0,
    protocolVersion,
    bodyBytes.length,
    serial,
    fields,
  ]);
  return Buffer.concat([header, Buffer.alloc(paddingTo8(header.length)), bodyBytes]);
}

type Stage =
  | { readonly kind: 'fixed' }
  | { readonly kind: 'rest'; readonly fixed: FixedPart }
  | {
      readonly kind: 'skipped';
      readonly fixed: FixedPart;
      readonly fields: Buffer | undefined;
      leftBytes: number;
    };

interface FixedPart {
  readonly isLittleEndian: boolean;
  readonly typeCode: number;
  readonly isNoReply: boolean;
  readonly serial: number;
  readonly fieldsBytes: number;
  readonly bodyBytes: number;
}

/**
 * Cuts a stream into messages. A message of a size beyond the limits is legal, and any client of a bus can send one to
 * any other: its body is skipped as it comes, and so is the whole message when its header is too long.
 */
export class DbusMessageReader {
  readonly #reader = new ByteReader();
  #stage: Stage = { kind: 'fixed' };

  *read(chunk: Buffer): Generator<DbusMessage, void, undefined> {
    this.#reader.push(chunk);
    for (;;) {
      const step = this.#step();
      if (step === 'starved') return;
      if (step !== undefined) yield step;
    }
  }

  #step(): DbusMessage | 'starved' | undefined {
    const stage = this.#stage;
    switch (stage.kind) {
      case 'fixed': {
        const bytes = this.#reader.take(fixedBytes);
        if (bytes === undefined) return 'starved';
        this.#stage = stageAfter(readFixedPart(bytes));
        return undefined;
      }
      case 'rest': {
        const { fixed } = stage;
        const headerBytes = fixed.fieldsBytes + paddingTo8(fixed.fieldsBytes);
        const isBodyRead = fixed.bodyBytes <= dbusLimits.bodyBytes;
        const bytes = this.#reader.take(headerBytes + (isBodyRead ? fixed.bodyBytes : 0));
        if (bytes === undefined) return 'starved';
        if (!isBodyRead) {
          this.#stage = { kind: 'skipped', fixed, fields: Buffer.from(bytes), leftBytes: fixed.bodyBytes };
          return undefined;
        }
        this.#stage = { kind: 'fixed' };
        return readMessage(fixed, bytes, bytes.subarray(headerBytes));
      }
      case 'skipped': {
        const skipped = this.#reader.takeSome(stage.leftBytes).length;
        stage.leftBytes -= skipped;
        if (stage.leftBytes > 0) return skipped === 0 ? 'starved' : undefined;
        this.#stage = { kind: 'fixed' };
        return stage.fields === undefined ? undefined : readMessage(stage.fixed, stage.fields, undefined);
      }
    }
  }
}

function stageAfter(fixed: FixedPart): Stage {
  if (fixed.fieldsBytes <= dbusLimits.headerBytes) return { kind: 'rest', fixed };
  const leftBytes = fixed.fieldsBytes + paddingTo8(fixed.fieldsBytes) + fixed.bodyBytes;
  return { kind: 'skipped', fixed, fields: undefined, leftBytes };
}

function readFixedPart(bytes: Buffer): FixedPart {
  const [order, typeCode = 0, flags = 0, version] = bytes;
  if (order !== 0x6c && order !== 0x42) throw new DbusFormatError('a message has no byte order');
  if (version !== protocolVersion) throw new DbusFormatError(`a message has the version ${version}`);
  if (typeCode === 0) throw new DbusFormatError('a message has the type 0');
  const isLittleEndian = order === 0x6c;
  const number = (at: number): number => (isLittleEndian ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at));
  const [bodyBytes, serial, fieldsBytes] = [number(4), number(8), number(12)];
  if (serial === 0) throw new DbusFormatError('a message has the serial 0');
  if (bodyBytes + fieldsBytes > longestMessageBytes)
    throw new DbusFormatError('a message announces more than 128 MiB');
  return { isLittleEndian, typeCode, isNoReply: (flags & noReplyFlag) !== 0, serial, fieldsBytes, bodyBytes };
}

const kinds = new Map<number, MessageKind>(
  // Object.entries widens the keys to string; they are exactly the kinds above.
  Object.entries(typeCodes).map(([kind, code]) => [code, kind as MessageKind]),
);

/** Fields that a message of a kind must have. */
const requiredFields: Readonly<Record<MessageKind, readonly (keyof DbusHeaderFields)[]>> = {
  call: ['path', 'member'],
  reply: ['replySerial'],
  error: ['replySerial', 'errorName'],
  signal: ['path', 'interface', 'member'],
};

/** Undefined for a kind that this version of the protocol does not know; such messages are ignored. */
function readMessage(fixed: FixedPart, header: Buffer, body: Buffer | undefined): DbusMessage | undefined {
  const { isLittleEndian, typeCode, isNoReply, serial } = fixed;
  const kind = kinds.get(typeCode);
  if (kind === undefined) return undefined;
  const { signature = '', ...fields } = readFields(header.subarray(0, fixed.fieldsBytes), isLittleEndian);
  const missing = requiredFields[kind].find((name) => fields[name] === undefined);
  if (missing !== undefined) throw new DbusFormatError(`a ${kind} has no ${missing}`);
  return {
    ...fields,
    kind,
    isNoReply,
    serial,
    signature,
    readBody: () => {
      if (body === undefined)
        throw new DbusFormatError(`a body has more than ${dbusLimits.bodyBytes} bytes: ${fixed.bodyBytes}`);
      return unmarshal(signature, body, isLittleEndian);
    },
  };
}

const fieldType: DbusType = { kind: 'struct', fields: [parseSingleType('y'), { kind: 'variant' }] };
const fieldNames = new Map<DbusValue, readonly [name: FieldName, signature: string]>(
  // Object.entries widens the keys to string; they are exactly the names above.
  Object.entries(fieldCodes).map(([name, [code, signature]]) => [code, [name as FieldName, signature]]),
);

function readFields(
  bytes: Buffer,
  isLittleEndian: boolean,
): DbusHeaderFields & { readonly signature?: string } {
  const reader = new ValueReader(bytes, isLittleEndian);
  const fields: Partial<Record<FieldName, DbusValue>> = {};
  while (!reader.atEnd) {
    const [code, variant] = fieldOf(reader.value(fieldType, 0));
    if (code === 0) throw new DbusFormatError('a header has the field 0');
    // A field that this version of the protocol does not know is ignored.
    const [name, signature] = fieldNames.get(code) ?? [];
    if (name === undefined) continue;
    if (variant.signature !== signature)
      throw new DbusFormatError(`the header field ${name} has the type ${variant.signature}`);
    fields[name] = variant.value;
  }
  // Every value was read by the type that the field has.
  return fields as DbusHeaderFields & { readonly signature?: string };
}

function fieldOf(value: DbusValue): readonly [DbusValue, DbusVariant] {
  if (Array.isArray(value)) {
    const [code, variant] = value;
    if (code !== undefined && isVariant(variant)) return [code, variant];
  }
  throw new DbusFormatError('a header field is no pair of a code and a value');
}

function paddingTo8(bytes: number): number {
  return (8 - (bytes % 8)) % 8;
}
