/** Exec of the process runtime: a command beside the container's own, on the streams of a client. */
import type { Readable, Writable } from 'node:stream';
import type { Clock } from '../../async/index.js';
import type { CommandStreams, ExecStreamRequest } from '../../streaming/index.js';
import { type CommandProcess, startCommand } from './command-process.js';
import type { ProcessContainer } from './records.js';
import { killGroup } from './supervision.js';
import { resizeTerminal } from './terminal.js';

/** Output that has not come for so long after the command's end is held by something that it started. */
const drainLimitMs = 1_000;

/** Resolves with the exit code when the output was written. The command is killed when the signal aborts. */
export async function execStreams(
  clock: Clock,
  container: ProcessContainer,
  { command, tty }: ExecStreamRequest,
  streams: CommandStreams,
  signal: AbortSignal,
): Promise<number> {
  if (container.state.kind !== 'running') throw new Error('container is not running');
  const started = await startCommand(container.launch, {
    argv: command,
    stdin: streams.stdin !== undefined,
    tty,
  });
  const { child } = started;
  const outputs = [
    copy(child.stdout, streams.stdout),
    copy(child.stderr, tty ? streams.stdout : streams.stderr),
  ];
  let ended = false;
  let leader: number | undefined;
  const kill = (): void => {
    // Until its end was told it has not been waited for, so that its number is still its own.
    if (ended) return;
    if (leader !== undefined) killGroup(leader);
    killGroup(started.pid);
  };
  const onChange = (): void => {
    if (container.state.kind !== 'running') kill();
  };
  container.changeWaiters.add(onChange);
  signal.addEventListener('abort', kill, { once: true });
  if (signal.aborted) kill();
  // A session ends its sizes; nothing is left waiting for the next.
  void followSizes(started, streams.resize);
  if (child.stdin !== null) streams.stdin?.pipe(child.stdin);
  try {
    leader = (await started.session)?.leader;
    if (signal.aborted || container.state.kind !== 'running') kill();
    const code = await started.exited;
    ended = true;
    await Promise.all(outputs.map((output) => output.drained(clock)));
    return code;
  } finally {
    container.changeWaiters.delete(onChange);
    signal.removeEventListener('abort', kill);
    streams.stdin?.unpipe();
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy();
  }
}

async function followSizes({ session }: CommandProcess, sizes: CommandStreams['resize']): Promise<void> {
  for await (const size of sizes) {
    const terminal = (await session)?.device;
    // A terminal that went with its command has no size.
    if (terminal !== undefined) await resizeTerminal(terminal, size).catch(() => {});
  }
}

interface Copying {
  /** Resolves when the output has ended, or nothing of it comes though there is room for more. */
  drained(clock: Clock): Promise<void>;
}

/** Copies with back-pressure; what nobody wants is read and dropped. */
function copy(from: Readable | null, to: Writable | undefined): Copying {
  if (from === null) return { drained: () => Promise.resolve() };
  let seen = 0;
  const ended = new Promise<void>((resolve) => {
    from.once('close', resolve).once('end', resolve);
  });
  from.on('data', (chunk: Buffer) => {
    seen += chunk.length;
    if (to !== undefined && !to.destroyed && !to.write(chunk)) {
      from.pause();
      to.once('drain', () => from.resume());
    }
  });
  to?.once('close', () => from.resume());
  return {
    drained: (clock) =>
      new Promise((resolve) => {
        let before = -1;
        const check = (): void => {
          if (seen === before && !from.isPaused()) resolve();
          else {
            before = seen;
            timer = clock.setTimer(drainLimitMs, check);
          }
        };
        let timer = clock.setTimer(0, check);
        void ended.then(() => {
          timer.cancel();
          resolve();
        });
      }),
  };
}
