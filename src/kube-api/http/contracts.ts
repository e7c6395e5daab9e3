/** A request to the API and its response, whatever server carries them. */
import type { ApiUser } from '../posted/contracts.js';

export interface ApiRequest {
  readonly method: string;
  /** As sent, still percent-encoded, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly user: ApiUser;
  readonly signal?: AbortSignal | undefined;
  readonly readBody?: (() => Promise<Buffer>) | undefined;
}

/** Has the shape of what nodelet's servers send. */
export interface ApiResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | ApiStream;
}

export interface ApiStream {
  readonly stream: (sink: { write(bytes: Buffer): Promise<void> }, signal: AbortSignal) => Promise<void>;
  readonly headAtOnce: boolean;
  readonly failed: (error: unknown) => ApiResponse;
}

export function jsonResponse(
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): ApiResponse {
  const body = typeof value === 'string' ? value : JSON.stringify(value);
  return {
    status,
    headers: { 'Content-Type': 'application/json', 'Cache-Control': 'no-cache, private', ...headers },
    body: `${body}\n`,
  };
}

/** The response with a line for each member, as people ask for it. */
export function indented(response: ApiResponse): ApiResponse {
  const { headers, body } = response;
  if (typeof body !== 'string' || !(headers['Content-Type'] ?? '').startsWith('application/json'))
    return response;
  return { ...response, body: `${JSON.stringify(JSON.parse(body), undefined, 2)}\n` };
}
