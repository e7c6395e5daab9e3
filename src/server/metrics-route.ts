/** `/metrics` and below: registries in Prometheus text format. */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { errorText } from '../async/index.js';
import { plainError, type RouteResponse, type StreamedBody } from './responses.js';
import type { Route } from './routes.js';

const contentType = 'text/plain; version=0.0.4; charset=utf-8';
/** Half the time of the usual level, for a fifth more bytes. */
const gzipLevel = 1;
/** What is compressed at a time: each trip to another thread costs more than a small text. */
const gzipInputBytes = 512 * 1024;
/** What a trip brings back; the text becomes a twentieth. */
const gzipOutputBytes = 64 * 1024;

/** A text, or the parts of a long one in their order. */
export type Exposition = string | Iterable<string>;

/** If `reset` is given, DELETE restarts the counts. */
export function metricsRoute(
  path: string,
  text: () => Exposition | Promise<Exposition>,
  reset?: () => void,
): Route {
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
        if (takesGzip(headers['accept-encoding'])) {
          const body = await compressed(typeof exposition === 'string' ? [exposition] : exposition);
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

function failure(error: unknown): RouteResponse {
  return plainError(500, `An error has occurred while serving metrics:\n\n${errorText(error)}`);
}

/** A long text is never there as a whole: only a part of it, and what has become of the parts before. */
async function compressed(parts: Iterable<string>): Promise<Buffer> {
  const found: Buffer[] = [];
  await pipeline(
    Readable.from(inChunks(parts), { objectMode: true, highWaterMark: 1 }),
    createGzip({ level: gzipLevel, chunkSize: gzipOutputBytes }),
    async (bytes: AsyncIterable<Buffer>) => {
      for await (const chunk of bytes) found.push(chunk);
    },
  );
  return Buffer.concat(found);
}

/** Parts as bytes, many of them together. */
function* inChunks(parts: Iterable<string>): Generator<Buffer> {
  let chunk = Buffer.allocUnsafe(0);
  let used = 0;
  for (const part of parts) {
    // UTF-8 has no more than three bytes for a unit of a string.
    const mostBytes = 3 * part.length;
    if (used + mostBytes > chunk.length) {
      if (used > 0) yield chunk.subarray(0, used);
      chunk = Buffer.allocUnsafe(Math.max(gzipInputBytes, mostBytes));
      used = 0;
    }
    used += chunk.write(part, used);
  }
  if (used > 0) yield chunk.subarray(0, used);
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
