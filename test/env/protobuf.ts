/** Writes the few protobuf messages that the environment itself sends to a runtime, so that it needs no generated code. */

export type FieldValue = string | number | Buffer;

/** A message with these fields, `[number, value]`: strings, nested messages (as bytes) and small whole numbers. */
export function protobuf(...fields: readonly (readonly [number, FieldValue])[]): Buffer {
  return Buffer.concat(
    fields.flatMap(([number, value]) => {
      if (typeof value === 'number') {
        return [varint(number * 8), varint(value)];
      }
      const content = Buffer.from(value);
      return [varint(number * 8 + 2), varint(content.length), content];
    }),
  );
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) {
    bytes.push((rest % 128) + 128);
  }
  return Buffer.from([...bytes, rest]);
}

/** The content of the first field with this number that holds a string or a message. */
export function protobufField(message: Buffer, wanted: number): Buffer | undefined {
  let offset = 0;
  const readVarint = () => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = message.readUInt8(offset++);
      value += (byte % 128) * scale;
      if (byte < 128) {
        return value;
      }
    }
  };
  while (offset < message.length) {
    const tag = readVarint();
    switch (tag % 8) {
      case 0:
        readVarint();
        break;
      case 2: {
        const length = readVarint();
        if (Math.floor(tag / 8) === wanted) {
          return message.subarray(offset, offset + length);
        }
        offset += length;
        break;
      }
      default:
        throw new Error(`unexpected protobuf wire type ${tag % 8}`);
    }
  }
  return undefined;
}
