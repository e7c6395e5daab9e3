/** The logs of services of this node: those that the journal has, and those that write files. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { type Clock, withTimeout } from '../../async/index.js';
import { type Answer, type BodySink, text } from '../answers.js';
import { hasOptions, journalArguments, type NodeLogQuery } from './query.js';

/** The port to the journal's own command. */
export interface Journal {
  /** Names of units that have entries. */
  units(signal: AbortSignal): Promise<ReadonlySet<string>>;
  /** What the command prints, to its end; rejects when it cannot be run. */
  read(args: readonly string[], write: (bytes: Buffer) => Promise<void>, signal: AbortSignal): Promise<void>;
}

export interface ServiceLogsOptions {
  readonly root: string;
  readonly journal: Journal;
  readonly clock: Clock;
}

const limitMs = 30_000;

export function serviceLogs({ root, journal, clock }: ServiceLogsOptions, query: NodeLogQuery): Answer {
  return {
    status: 200,
    headers: { 'Content-Type': 'text/plain;charset=UTF-8' },
    body: {
      headAtOnce: false,
      failed: () => text(200, ''),
      stream: async (sink, outer) => {
        await withTimeout(clock, limitMs, outer, (signal) =>
          writeServices(root, journal, query, sink, signal),
        );
      },
    },
  };
}

async function writeServices(
  root: string,
  journal: Journal,
  query: NodeLogQuery,
  sink: BodySink,
  signal: AbortSignal,
): Promise<void> {
  // Where there is no journal every service has to have a file.
  const units = await journal.units(signal).catch(() => new Set<string>());
  const isNative = (service: string): boolean => units.has(`${service}.service`);
  const native = query.services.filter(isNative);
  if (native.length > 0) {
    try {
      await journal.read(journalArguments(query, native), (bytes) => sink.write(bytes), signal);
    } catch (error) {
      if (signal.aborted) throw error;
      await sink.write(Buffer.from('\nerror: journal output not available\n'));
    }
  }
  for (const service of query.services.filter((name) => !isNative(name))) {
    if (hasOptions(query)) {
      const hint = `\noptions present and query resolved to log files for ${service}\ntry without specifying options\n`;
      await sink.write(Buffer.from(hint));
      continue;
    }
    const file = await logFileOf(root, service);
    if (file === undefined) {
      await sink.write(Buffer.from(`\nlog not found for ${service}\n`));
      continue;
    }
    for await (const chunk of createReadStream(file, { signal })) await sink.write(chunk as Buffer);
  }
}

async function logFileOf(root: string, service: string): Promise<string | undefined> {
  for (const name of [service, `${service}.log`, path.join(service, `${service}.log`)]) {
    try {
      const top = await realpath(root);
      const file = await realpath(path.join(top, name));
      if (file.startsWith(top + path.sep) && (await stat(file)).isFile()) return file;
    } catch {
      // Not there: the next name may be.
    }
  }
  return undefined;
}

const unitListLimitBytes = 4 << 20;

export const systemJournal: Journal = {
  async units(signal) {
    const chunks: Buffer[] = [];
    let sizeBytes = 0;
    await run(['--field', '_SYSTEMD_UNIT'], signal, async (chunk) => {
      sizeBytes += chunk.length;
      if (sizeBytes <= unitListLimitBytes) chunks.push(chunk);
    });
    return new Set(Buffer.concat(chunks).toString().split('\n'));
  },
  read: (args, write, signal) => run(args, signal, write),
};

async function run(
  args: readonly string[],
  signal: AbortSignal,
  write: (bytes: Buffer) => Promise<void>,
): Promise<void> {
  const child = spawn('journalctl', [...args], { stdio: ['ignore', 'pipe', 'pipe'], signal });
  const ended = once(child, 'close');
  // Its failure is told by what is awaited last, whichever of the two is first.
  ended.catch(() => {});
  const forward = async (stream: Readable): Promise<void> => {
    for await (const chunk of stream) await write(chunk as Buffer);
  };
  try {
    await Promise.all([forward(child.stdout), forward(child.stderr)]);
    await ended;
  } finally {
    child.kill('SIGKILL');
  }
}
