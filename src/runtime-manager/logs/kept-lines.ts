/** Reads the log of a container whose runtime keeps its last lines in memory instead of a file. */
import { Cancelled } from '../../async/index.js';
import { formatNanoTimestamp } from '../../kube/index.js';
import type { LogStream } from './format.js';
import type { PodLogOptions } from './options.js';
import { LogOutput, type LogSinks } from './output.js';

export interface KeptLine {
  readonly timestampNs: bigint;
  readonly stream: LogStream;
  /** Without its newline. */
  readonly text: string;
}

/** The last lines of a container; lines are numbered from 0, and the oldest are dropped. */
export interface KeptLog {
  /** The kept lines from one number on, and the number of the next line to come. */
  from(number: number): { readonly lines: readonly KeptLine[]; readonly next: number };
  /** Calls back with every line, and when the container has ended; returns how to stop that. */
  onChange(listener: () => void): () => void;
  /** Whether lines may still come. */
  readonly isOpen: boolean;
}

export interface KeptLogRequest {
  readonly log: KeptLog;
  readonly options: PodLogOptions;
  readonly sinks: LogSinks;
  readonly signal?: AbortSignal | undefined;
}

export async function readKeptLog({ log, options, sinks, signal }: KeptLogRequest): Promise<void> {
  const output = new LogOutput(options, sinks);
  const kept = log.from(0);
  const { tailLines, follow } = options;
  const first =
    tailLines === undefined ? kept.lines : kept.lines.slice(Math.max(0, kept.lines.length - tailLines));
  let changed = false;
  let wake = (): void => {};
  const unsubscribe = log.onChange(() => {
    changed = true;
    wake();
  });
  const onAbort = (): void => wake();
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    await writeLines(output, first);
    let { next } = kept;
    while (follow && !output.isFull) {
      const mayGrow = log.isOpen;
      const more = log.from(next);
      next = more.next;
      await writeLines(output, more.lines);
      if (!mayGrow) return;
      if (signal?.aborted) throw new Cancelled('context cancelled');
      if (!changed) await new Promise<void>((resolve) => (wake = resolve));
      changed = false;
    }
  } finally {
    signal?.removeEventListener('abort', onAbort);
    unsubscribe();
  }
}

async function writeLines(output: LogOutput, lines: readonly KeptLine[]): Promise<void> {
  for (const { timestampNs, stream, text } of lines) {
    if (output.isFull) break;
    const timestamp = formatNanoTimestamp(timestampNs);
    await output.write({ timestamp, timestampNs, stream, content: Buffer.from(`${text}\n`) });
  }
  await output.flush();
}
