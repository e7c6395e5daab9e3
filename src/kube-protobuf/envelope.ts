/** The envelope that the API server puts around an object in protobuf, so that a reader learns its kind first. */
import { WireError, WireReader, WireType, WireWriter } from '../grpc/index.js';

/** The media type by which a client asks for it. */
export const protobufMediaType = 'application/vnd.kubernetes.protobuf';

export interface Enveloped {
  readonly apiVersion: string;
  readonly kind: string;
  /** The message. */
  readonly bytes: Uint8Array;
}

const magic = Buffer.from('k8s\0');

export function openEnvelope(bytes: Uint8Array): Enveloped {
  if (bytes.length < magic.length || magic.compare(bytes, 0, magic.length) !== 0)
    throw new WireError('not an object in protobuf: the first four bytes are not those of the envelope');
  const reader = new WireReader(bytes.subarray(magic.length));
  let names = { apiVersion: '', kind: '' };
  let content: Uint8Array = new Uint8Array(0);
  while (reader.position < reader.length) {
    const tag = reader.uint32(reader.length);
    if (tag === blockTag(1)) names = readNames(reader, reader.blockEnd(reader.length));
    else if (tag === blockTag(2)) content = reader.bytes(reader.length);
    else reader.skip(tag, reader.length);
  }
  return { ...names, bytes: content };
}

export function putInEnvelope({ apiVersion, kind, bytes }: Enveloped): Buffer {
  const writer = new WireWriter(bytes.length + 64);
  writer.tag(1, WireType.BYTES);
  writer.block(() => {
    writer.tag(1, WireType.BYTES);
    writer.string(apiVersion);
    writer.tag(2, WireType.BYTES);
    writer.string(kind);
  });
  writer.tag(2, WireType.BYTES);
  writer.bytes(bytes);
  return Buffer.concat([magic, writer.finish()]);
}

function readNames(reader: WireReader, end: number): { apiVersion: string; kind: string } {
  const names = { apiVersion: '', kind: '' };
  while (reader.position < end) {
    const tag = reader.uint32(end);
    if (tag === blockTag(1)) names.apiVersion = reader.string(end);
    else if (tag === blockTag(2)) names.kind = reader.string(end);
    else reader.skip(tag, end);
  }
  return names;
}

function blockTag(fieldNumber: number): number {
  return (fieldNumber << 3) | WireType.BYTES;
}
