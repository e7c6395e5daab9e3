/** Parses watch events from a response body: one JSON object per line, of bounded length. */
import { ByteReader, errorText } from '../async/index.js';
import { parseJson } from '../kube/manifests/json-text.js';
import type { KubeObject, Status } from '../kube/types/index.js';
import { ApiUnreachable, apiErrorOfStatus } from './api-error.js';
import type { WatchEvent } from './port.js';

const newline = 0x0a;
/** On the bookmark after the last object that was there at first. */
export const initialEventsEndAnnotation = 'k8s.io/initial-events-end';

/** Lines of a byte stream, read only as fast as they are consumed; a line beyond the limit is an error. */
export async function* readLines(
  chunks: AsyncIterable<Uint8Array>,
  limitBytes: number,
): AsyncGenerator<string, void, undefined> {
  /** An unfinished line; chunks may be as small as a byte. */
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
  // Bytes after the last newline are half an event of a broken connection.
  if (held.length > 0) throw new ApiUnreachable('the watch ended in the middle of an event', 'unknown');
}

/**
 * The event on a line. Objects of the API are trusted to have the shape of their kind, as in every response.
 */
export function parseWatchEvent<T extends KubeObject>(line: string): WatchEvent<T> {
  let event: unknown;
  try {
    event = parseJson(line);
  } catch (error) {
    throw new ApiUnreachable(`a watch event ${errorText(error)}`, 'unknown', { cause: error });
  }
  // Any JSON value but null can be asked for these two members.
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
      return bookmarkOf(object as KubeObject);
    case 'ERROR':
      return { type, error: apiErrorOfStatus(object as Status) };
    default:
      throw new ApiUnreachable(`a watch event has the unknown type ${JSON.stringify(type)}`, 'unknown');
  }
}

function bookmarkOf({ metadata }: KubeObject): WatchEvent<never> {
  const isEnd = metadata?.annotations?.[initialEventsEndAnnotation] === 'true';
  const resourceVersion = metadata?.resourceVersion ?? '';
  return { type: 'BOOKMARK', resourceVersion, ...(isEnd ? { initialEventsEnd: true } : {}) };
}
