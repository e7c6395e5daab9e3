/** The client of a run's socket: requests with one response, and requests whose response is a stream of lines. */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { defaultRunName, findRun, type Run } from '../run/state.js';
import { CommandFailure } from './usage-error.js';

export interface Connection {
  readonly socketPath: string;
  /** The run that serves the socket; undefined when the user named the socket. */
  readonly run?: Run;
}

/** The server refused the request. */
export class RequestRefused extends CommandFailure {
  readonly statusCode: number;

  constructor(statusCode: number, message: string) {
    super(message.trim() || `the run responded with status ${statusCode}`);
    this.statusCode = statusCode;
  }
}

/** Throws when no run or more than one run matches. */
export async function connectTo(flags: {
  readonly run: string | undefined;
  readonly socket: string | undefined;
}): Promise<Connection> {
  if (flags.socket !== undefined) return { socketPath: flags.socket };
  const run = await findRun(flags.run);
  if (!run.alive) throw new CommandFailure(crashedRunText(run));
  return { socketPath: run.socketPath, run };
}

export function crashedRunText({ name, pid }: { readonly name: string; readonly pid: number }): string {
  const option = name === defaultRunName ? '' : ` --name ${name}`;
  return (
    `the run ${JSON.stringify(name)} is not running any more: its process ${pid} is gone, and its containers may still run. ` +
    `"nodelet stop${option}" ends and removes them, the same "nodelet run" again takes them over, ` +
    'and "nodelet explain" still shows what happened to its pods'
  );
}

export interface LocalRequestOptions {
  readonly method?: 'GET' | 'POST';
  readonly body?: string;
  readonly signal?: AbortSignal;
}

/** Rejects when nothing listens on the socket, or the response is not a success. */
export function sendRequest(
  { socketPath }: Connection,
  path: string,
  { method = 'GET', body: sent, signal }: LocalRequestOptions = {},
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      { socketPath, path, method, agent: false, ...(signal === undefined ? {} : { signal }) },
      (response) => {
        const { statusCode = 0 } = response;
        if (statusCode >= 200 && statusCode < 300) resolve(response);
        else
          readAll(response).then(
            (body) => reject(new RequestRefused(statusCode, body.toString('utf8'))),
            (error: unknown) => reject(error),
          );
      },
    );
    request.on('error', (error: NodeJS.ErrnoException) => reject(connectionFailure(error, socketPath)));
    request.end(sent);
  });
}

export async function requestJson<T>(
  connection: Connection,
  path: string,
  options?: LocalRequestOptions,
): Promise<T> {
  const body = await readAll(await sendRequest(connection, path, options));
  // The server is the same program: its responses have the types that the callers name.
  return JSON.parse(body.toString('utf8')) as T;
}

/** Yields the values of a response of JSON lines as they arrive. Throws for a line with only an `error`. */
export async function* requestLines<T extends object>(
  connection: Connection,
  path: string,
  options?: LocalRequestOptions,
): AsyncGenerator<T> {
  for await (const line of linesOf(await sendRequest(connection, path, options))) {
    if (line.length === 0) continue;
    // As above: only the local server writes these lines.
    const value = JSON.parse(line.toString('utf8')) as T | { readonly error: string };
    if (Object.keys(value).length === 1 && 'error' in value) throw new CommandFailure(String(value.error));
    yield value as T;
  }
}

const newline = 0x0a;
/** Far more than any pod or timeline entry. */
const longestLineBytes = 16 << 20;

/** Yields lines without their newlines. The last line may lack its newline. */
export async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      yield Buffer.concat([...pending, chunk.subarray(start, end)]);
      pending = [];
      pendingBytes = 0;
      start = end + 1;
    }
    if (start < chunk.length) pending.push(chunk.subarray(start));
    pendingBytes += chunk.length - start;
    if (pendingBytes > longestLineBytes)
      throw new Error(`a line of the response is longer than ${longestLineBytes} bytes`);
  }
  if (pending.length > 0) yield Buffer.concat(pending);
}

async function readAll(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function connectionFailure(error: NodeJS.ErrnoException, socketPath: string): Error {
  switch (error.code) {
    case 'ENOENT':
    case 'ECONNREFUSED':
      return new CommandFailure(
        `nothing listens at ${socketPath}: the run has ended; start one with nodelet run FILE`,
        { cause: error },
      );
    case 'EACCES':
    case 'EPERM':
      return new CommandFailure(`${socketPath} belongs to another user, and only that user can open it`, {
        cause: error,
      });
    default:
      return error;
  }
}

export function isNotListening(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return (
    cause instanceof Error && 'code' in cause && (cause.code === 'ENOENT' || cause.code === 'ECONNREFUSED')
  );
}
