/** Open-ended responses of JSON lines. */
import { errorText } from '../async/index.js';
import { type RouteResponse, text } from './responses.js';

export type WriteLine = (value: unknown) => Promise<void>;

/** Each value becomes one line; the head is sent at once, so that the client knows it was heard. */
export function jsonLines(produce: (write: WriteLine, signal: AbortSignal) => Promise<void>): RouteResponse {
  return {
    status: 200,
    headers: { 'Content-Type': 'application/jsonl' },
    body: {
      headAtOnce: true,
      stream: (sink, signal) =>
        produce((value) => sink.write(Buffer.from(`${JSON.stringify(value)}\n`)), signal),
      failed: (error) => text(500, `${JSON.stringify({ error: errorText(error) })}\n`),
    },
  };
}
