/** Watch events from the bytes of an answer: one JSON object a line, of bounded length. */
import { ByteReader, errorText } from '../async/index.js';
import { parseJson } from '../kube/manifests/json-text.js';
import type { KubeObject, Status } from '../kube/types/index.js';
import { ApiUnreachable, apiErrorOfStatus } from './api-error.js';
import type { WatchEvent } from './port.js';

const newline = 0x0a;

/** Lines of a byte stream, read only as fast as they are taken; a line beyond the limit is an error. */
export async function* readLines(
  chunks: AsyncIterable<Uint8Array>,
  limitBytes: number,
): AsyncGenerator<string, void, undefined> {
  /** Of a line whose end has not come; chunks may be as small as a byte. */
  const held = new ByteReader();
  const take = (rest: Buffer): string => {
    if (held.length === 0) return rest.toString('utf8');
    held.push(rest);
    return held.takeAll().toString('utf8');
  };
  const checkSize = (bytes: number): void => {
    if (bytes > limitBytes) {
      throw new ApiUnreachable(`a watch event is larger than the limit of ${limitBytes} bytes`, 'unknown');
    }
  };
  for await (const { buffer, byteOffset, length } of chunks) {
    const chunk = Buffer.from(buffer, byteOffset, length);
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      checkSize(held.length + end - start);
      const line = take(chunk.subarray(start, end));
      start = end + 1;
      if (line.trim() !== '') yield line;
    }
    if (start < chunk.length) {
      const rest = chunk.subarray(start);
      checkSize(held.length + rest.length);
      held.push(rest);
    }
  }
  // What follows the last newline is half an event of a connection that was cut.
  if (held.length > 0) throw new ApiUnreachable('the watch ended in the middle of an event', 'unknown');
}

/** The event on a line. Objects of the API are trusted to have the shape of their kind, as in every other answer. */
export function parseWatchEvent<T extends KubeObject>(line: string): WatchEvent<T> {
  let event: unknown;
  try {
    event = parseJson(line);
  } catch (error) {
    throw new ApiUnreachable(`a watch event ${errorText(error)}`, 'unknown', { cause: error });
  }
  // Of any JSON value but null these two can be asked for.
  const { type, object } = (event ?? {}) as { type?: unknown; object?: unknown };
  if (typeof object !== 'object' || object === null) {
    throw new ApiUnreachable('a watch event has no object', 'unknown');
  }
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return { type, object: object as T };
    case 'BOOKMARK':
      return { type, resourceVersion: (object as KubeObject).metadata?.resourceVersion ?? '' };
    case 'ERROR':
      return { type, error: apiErrorOfStatus(object as Status) };
    default:
      throw new ApiUnreachable(`a watch event has the unknown type ${JSON.stringify(type)}`, 'unknown');
  }
}
