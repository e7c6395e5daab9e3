/** Exec of the process runtime: runs a command in the container's environment on a client's streams. */
import type { Readable, Writable } from 'node:stream';
import type { Clock } from '../../async/index.js';
import type { CommandStreams, ExecStreamRequest } from '../../streaming/index.js';
import { type CommandProcess, startCommand } from './command-process.js';
import type { ProcessContainer } from './records.js';
import { killGroup } from './supervision.js';
import { resizeTerminal } from './terminal.js';

/** Output that stays away this long after the command's exit is held open by something it started. */
const drainLimitMs = 1_000;

/** Resolves with the exit code when the output is written. Kills the command when the signal aborts. */
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
    // The process is not reaped until its exit is reported, so its pid is still its own.
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
  // The stream of sizes ends with the session, so this does not leak.
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
    // The terminal is gone with its command.
    if (terminal !== undefined) await resizeTerminal(terminal, size).catch(() => {});
  }
}

interface OutputCopy {
  /** Resolves when the output has ended, or none arrives though there is room for more. */
  drained(clock: Clock): Promise<void>;
}

/** Copies with back-pressure; unwanted output is read and dropped. */
function copy(from: Readable | null, to: Writable | undefined): OutputCopy {
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
