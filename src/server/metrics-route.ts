/** `/metrics` and below: registries in Prometheus text format. */
import { once } from 'node:events';
import { promisify } from 'node:util';
import { createGzip, type Gzip, gzip as gzipOnce } from 'node:zlib';
import { errorText } from '../async/index.js';
import {
  type NativeHistograms,
  prefersProtobuf,
  protobufContentType,
  protobufOf,
} from './metrics-protobuf.js';
import { plainError, type RouteResponse, type StreamedBody } from './responses.js';
import type { Route } from './routes.js';

const contentType = 'text/plain; version=0.0.4; charset=utf-8';
/** Half the time of the usual level, for a fifth more bytes. */
const gzipLevel = 1;
/** What is compressed at a time: each trip to another thread costs more than a small text. */
const gzipInputBytes = 256 * 1024;
/** What a trip brings back; the text becomes a twentieth. */
const gzipOutputBytes = 64 * 1024;
const zipped = promisify(gzipOnce);

/** A text, or the parts of a long one in their order. */
export type Exposition = string | Iterable<string>;

export interface MetricsRouteOptions {
  /** If given, DELETE restarts the counts. */
  readonly reset?: () => void;
  /** Of the series on the page that have them; asked for after the text. */
  readonly natives?: () => NativeHistograms;
}

export function metricsRoute(
  path: string,
  text: () => Exposition | Promise<Exposition>,
  { reset, natives = () => new Map() }: MetricsRouteOptions = {},
): Route {
  const compressed = compressor();
  return {
    kind: 'plain',
    path,
    handle: async ({ method, headers }) => {
      if (method === 'DELETE' && reset !== undefined) {
        reset();
        return {
          status: 200,
          headers: { 'Content-Type': 'text/plain; charset=utf-8' },
          body: 'metrics reset\n',
        };
      }
      try {
        const exposition = await text();
        const parts = typeof exposition === 'string' ? [exposition] : exposition;
        const zips = takesGzip(headers['accept-encoding']);
        if (prefersProtobuf(headers.accept)) return await inProtobuf(protobufOf(parts, natives()), zips);
        if (zips) {
          const body = await compressed(parts);
          return { status: 200, headers: { 'Content-Type': contentType, 'Content-Encoding': 'gzip' }, body };
        }
        const body = typeof exposition === 'string' ? exposition : streamed(exposition);
        return { status: 200, headers: { 'Content-Type': contentType }, body };
      } catch (error) {
        // A part of the metrics would look like the whole.
        return failure(error);
      }
    },
  };
}

async function inProtobuf(message: Buffer, zips: boolean): Promise<RouteResponse> {
  const headers = { 'Content-Type': protobufContentType };
  if (!zips) return { status: 200, headers, body: message };
  const body = await zipped(message, { level: gzipLevel });
  return { status: 200, headers: { ...headers, 'Content-Encoding': 'gzip' }, body };
}

function failure(error: unknown): RouteResponse {
  return plainError(500, `An error has occurred while serving metrics:\n\n${errorText(error)}`);
}

/** A long text is never there as a whole: only a part of it, and what has become of the parts before. */
function compressor(): (parts: Iterable<string>) => Promise<Buffer> {
  // Stays for the next scrape: V8 is slow to give back what is made anew for each.
  let spare: Buffer | undefined;
  return async (parts) => {
    const room = spare ?? Buffer.allocUnsafe(gzipInputBytes);
    spare = undefined;
    const found: Buffer[] = [];
    const gzip = createGzip({ level: gzipLevel, chunkSize: gzipOutputBytes });
    try {
      gzip.on('data', (chunk: Buffer) => found.push(chunk));
      for (const chunk of inChunks(parts, room)) await written(gzip, chunk);
      const ended = once(gzip, 'end');
      gzip.end();
      await ended;
      return Buffer.concat(found);
    } finally {
      gzip.destroy();
      spare = room;
    }
  };
}

/** Resolves when the bytes were read, and their place is free again. */
function written(gzip: Gzip, bytes: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    gzip.write(bytes, (error) => (error ? reject(error) : resolve()));
  });
}

const utf8 = new TextEncoder();

/** Parts as bytes, many of them together, each time in the same place. */
function* inChunks(parts: Iterable<string>, room: Buffer): Generator<Buffer> {
  let used = 0;
  for (const part of parts) {
    let rest = part;
    while (rest !== '') {
      const { read, written: bytes } = utf8.encodeInto(rest, room.subarray(used));
      used += bytes;
      rest = read === rest.length ? '' : rest.slice(read);
      if (rest === '') break;
      yield room.subarray(0, used);
      used = 0;
    }
  }
  if (used > 0) yield room.subarray(0, used);
}

function streamed(parts: Iterable<string>): StreamedBody {
  return {
    headAtOnce: false,
    failed: failure,
    async stream(sink) {
      for (const part of parts) await sink.write(Buffer.from(part));
    },
  };
}

export function takesGzip(acceptEncoding: string | string[] | undefined): boolean {
  return [acceptEncoding ?? '']
    .flat()
    .flatMap((value) => value.split(','))
    .some((item) => {
      const [coding, ...parameters] = item.split(';').map((part) => part.trim().toLowerCase());
      return coding === 'gzip' && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
    });
}
