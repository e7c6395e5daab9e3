/** The streams of simulated processes: output with back-pressure on the client's input, attach, and ports. */
import type { Duplex, Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { AttachStreamRequest, CommandStreams } from '../../streaming/index.js';
import type { SimContainer, SimSandbox } from './store.js';

type OutputName = 'stdout' | 'stderr';

/** A terminal turns every newline into a carriage return and a newline. */
export function onTerminalOutput(text: string): string {
  return text.replaceAll('\n', '\r\n');
}

/** Writes output; while a client does not read it, no more of its input is read. */
export class StreamsWriter {
  readonly #streams: CommandStreams;
  readonly #input: Readable | undefined;

  constructor(streams: CommandStreams, input: Readable | undefined) {
    this.#streams = streams;
    this.#input = input;
  }

  write(name: OutputName, bytes: Buffer): void {
    const stream = this.#streams[name];
    if (stream === undefined || stream.destroyed || stream.write(bytes)) return;
    this.#input?.pause();
    stream.once('drain', () => this.#input?.resume());
  }
}

/** Resolves when the container has ended, or the signal aborts, which the container does not notice. */
export async function attachStreams(
  container: SimContainer,
  _request: AttachStreamRequest,
  streams: CommandStreams,
  signal: AbortSignal,
): Promise<void> {
  const { state } = container;
  if (state.kind !== 'running') throw new Error('container is not running');
  const { process } = state;
  const { stdin: input } = streams;
  const { stdin, stdinOnce, tty } = container.config;
  const writer = new StreamsWriter(streams, input);
  const listener = (name: OutputName, bytes: Buffer): void =>
    writer.write(tty ? 'stdout' : name, tty ? Buffer.from(onTerminalOutput(bytes.toString('utf8'))) : bytes);
  const onInput = (bytes: Buffer): void => process.input(bytes);
  const onInputEnd = (): void => {
    if (stdinOnce) process.endInput();
  };
  container.outputListeners.add(listener);
  if (stdin) input?.on('data', onInput).on('end', onInputEnd);
  let done: () => void = () => {};
  await new Promise<void>((resolve) => {
    done = resolve;
    container.exitWaiters.add(done);
    signal.addEventListener('abort', done, { once: true });
    if (signal.aborted) done();
  });
  signal.removeEventListener('abort', done);
  container.exitWaiters.delete(done);
  container.outputListeners.delete(listener);
  input?.off('data', onInput).off('end', onInputEnd).pause();
  // A client that is gone has ended its input, too.
  if (signal.aborted && stdin && input !== undefined) onInputEnd();
}

export type SimPortBehaviour = 'echo' | 'http';

export interface SimPortCall {
  readonly podUid: string;
  readonly podName: string;
  readonly port: number;
}

/** Serves one connection to a pod's port, or leaves it to the simulation with `undefined`. */
export type SimPortForward = (call: SimPortCall) => ((connection: Duplex) => Promise<void>) | undefined;

/** Resolves when the connection has ended; fails where nothing listens. */
export async function forwardPort(
  sandbox: SimSandbox,
  port: number,
  stream: Duplex,
  answer: SimPortForward | undefined,
): Promise<void> {
  const { name = '', uid = '' } = sandbox.config.metadata ?? {};
  const answered = answer?.({ podUid: uid, podName: name, port });
  if (answered !== undefined) return answered(stream);
  switch (behaviourOf(sandbox, port)) {
    case 'echo':
      stream.pipe(stream);
      break;
    case 'http':
      stream.once('data', () => {
        const body = `${name}\n`;
        stream.end(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`);
      });
      break;
    case undefined:
      throw new Error(`failed to connect to localhost:${port}: connection refused`);
  }
  await finished(stream, { readable: false }).catch(() => {});
}

/** The scripted behaviour of the sandbox's running containers on the port. */
function behaviourOf(sandbox: SimSandbox, port: number): SimPortBehaviour | undefined {
  for (const { state, script } of sandbox.containers) {
    const behaviour = state.kind === 'running' ? script.ports.get(port) : undefined;
    if (behaviour !== undefined) return behaviour;
  }
  return undefined;
}
