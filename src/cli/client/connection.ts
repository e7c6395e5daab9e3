/** The client of a run's socket: questions with one answer, and answers that go on. */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { defaultRunName, findRun, type Run } from '../run/state.js';
import { CommandFailure } from './usage-error.js';

export interface Connection {
  readonly socketPath: string;
  /** Who is behind it, when it was not named by its socket. */
  readonly run?: Run;
}

/** The server's answer to a request that it does not do. */
export class RequestRefused extends CommandFailure {
  readonly statusCode: number;

  constructor(statusCode: number, message: string) {
    super(message.trim() || `the run answered with status ${statusCode}`);
    this.statusCode = statusCode;
  }
}

/** Throws when there is no run to talk to, or more than one. */
export async function connectTo(flags: {
  readonly run: string | undefined;
  readonly socket: string | undefined;
}): Promise<Connection> {
  if (flags.socket !== undefined) return { socketPath: flags.socket };
  const run = await findRun(flags.run);
  if (!run.alive) throw new CommandFailure(gone(run));
  return { socketPath: run.socketPath, run };
}

export function gone({ name, pid }: { readonly name: string; readonly pid: number }): string {
  const option = name === defaultRunName ? '' : ` --name ${name}`;
  return (
    `the run ${JSON.stringify(name)} is not running any more: its process ${pid} is gone, and its containers may still run. ` +
    `"nodelet stop${option}" ends and removes them, the same "nodelet run" again takes them over, ` +
    'and nodelet explain still tells what happened to its pods'
  );
}

export interface AskOptions {
  readonly method?: 'GET' | 'POST';
  readonly signal?: AbortSignal;
}

/** Rejects when nobody answers, or the answer is not a success. */
export function ask(
  { socketPath }: Connection,
  path: string,
  { method = 'GET', signal }: AskOptions = {},
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
    request.on('error', (error: NodeJS.ErrnoException) => reject(explained(error, socketPath)));
    request.end();
  });
}

export async function askJson<T>(connection: Connection, path: string, options?: AskOptions): Promise<T> {
  const body = await readAll(await ask(connection, path, options));
  // The other side is the same program, whose answers have the shapes that its callers name.
  return JSON.parse(body.toString('utf8')) as T;
}

/** Values of an answer of JSON lines as they come. A line with an `error` fails. */
export async function* askLines<T extends object>(
  connection: Connection,
  path: string,
  options?: AskOptions,
): AsyncGenerator<T> {
  for await (const line of linesOf(await ask(connection, path, options))) {
    if (line.length === 0) continue;
    // As above: only the local server writes these lines.
    const value = JSON.parse(line.toString('utf8')) as T | { readonly error: string };
    if (Object.keys(value).length === 1 && 'error' in value) throw new CommandFailure(String(value.error));
    yield value as T;
  }
}

const newline = 0x0a;
/** Far more than any pod or entry; whatever is longer did not come from a run. */
const longestLineBytes = 16 << 20;

/** Lines without their newlines; what stands at the end without one is a line, too. */
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
    if (pendingBytes > longestLineBytes) throw new Error('a line of the answer does not end');
  }
  if (pending.length > 0) yield Buffer.concat(pending);
}

async function readAll(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function explained(error: NodeJS.ErrnoException, socketPath: string): Error {
  switch (error.code) {
    case 'ENOENT':
    case 'ECONNREFUSED':
      return new CommandFailure(
        `nobody answers at ${socketPath}: the run has ended; start one with nodelet run FILE`,
        { cause: error },
      );
    case 'EACCES':
    case 'EPERM':
      return new CommandFailure(`${socketPath} belongs to another user, and only that one may open it`, {
        cause: error,
      });
    default:
      return error;
  }
}

export function isNobodyThere(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return (
    cause instanceof Error && 'code' in cause && (cause.code === 'ENOENT' || cause.code === 'ECONNREFUSED')
  );
}
