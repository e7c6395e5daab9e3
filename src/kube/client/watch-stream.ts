/** Watch events from the bytes of an answer: one JSON object a line, of bounded length. */
import type { KubeObject, Status } from '../types.js';
import { ApiUnreachable, apiErrorOfStatus } from './api-error.js';
import type { WatchEvent } from './port.js';

const newline = 0x0a;

/** Lines of a byte stream, read only as fast as they are taken; a line beyond the limit is an error. */
export async function* readLines(
  chunks: AsyncIterable<Uint8Array>,
  limitBytes: number,
): AsyncGenerator<string, void, undefined> {
  let held: Uint8Array[] = [];
  let heldBytes = 0;
  const take = (rest: Uint8Array): string => {
    const line =
      held.length === 0
        ? Buffer.from(rest.buffer, rest.byteOffset, rest.length)
        : Buffer.concat([...held, rest]);
    held = [];
    heldBytes = 0;
    return line.toString('utf8');
  };
  const checkSize = (bytes: number): void => {
    if (bytes > limitBytes) {
      throw new ApiUnreachable(`a watch event is larger than the limit of ${limitBytes} bytes`, 'unknown');
    }
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      checkSize(heldBytes + end - start);
      const line = take(chunk.subarray(start, end));
      start = end + 1;
      if (line.trim() !== '') yield line;
    }
    if (start < chunk.length) {
      const rest = chunk.subarray(start);
      heldBytes += rest.length;
      checkSize(heldBytes);
      held.push(rest);
    }
  }
  // What follows the last newline is half an event of a connection that was cut.
  if (heldBytes > 0) throw new ApiUnreachable('the watch ended in the middle of an event', 'unknown');
}

/** The event on a line. Objects of the API are trusted to have the shape of their kind, as in every other answer. */
export function parseWatchEvent<T extends KubeObject>(line: string): WatchEvent<T> {
  let event: { type?: unknown; object?: unknown };
  try {
    event = JSON.parse(line);
  } catch (error) {
    throw new ApiUnreachable('a watch event is no JSON', 'unknown', { cause: error });
  }
  const { type, object } = event ?? {};
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
