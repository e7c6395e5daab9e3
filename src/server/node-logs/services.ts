/** The logs of this node's services: those in the journal, and those in files. */
import path from 'node:path';
import { type Clock, withTimeout } from '../../async/index.js';
import { isHostError, type OpenedFile } from '../../host/index.js';
import { CommandLine, plainEnvironment, streamProgram } from '../../programs/index.js';
import { type BodySink, type RouteResponse, text } from '../responses.js';
import { holdLogFile, type NodeLogFiles, writeFileTo } from './files.js';
import { hasOptions, journalCommand, type NodeLogQuery } from './query.js';

/** The port to the journal's own command. */
export interface Journal {
  /** Names of units with entries. */
  units(signal: AbortSignal): Promise<ReadonlySet<string>>;
  /** Writes the command's output, to its end; rejects when it cannot be run. */
  read(command: CommandLine, write: (bytes: Buffer) => Promise<void>, signal: AbortSignal): Promise<void>;
}

export interface ServiceLogsOptions {
  readonly host: NodeLogFiles;
  readonly root: string;
  readonly journal: Journal;
  readonly clock: Clock;
}

const limitMs = 30_000;

export function serviceLogs(
  { host, root, journal, clock }: ServiceLogsOptions,
  query: NodeLogQuery,
): RouteResponse {
  return {
    status: 200,
    headers: { 'Content-Type': 'text/plain;charset=UTF-8' },
    body: {
      headAtOnce: false,
      failed: () => text(200, ''),
      stream: async (sink, outer) => {
        await withTimeout(clock, limitMs, outer, (signal) =>
          writeServices({ host, root, journal }, query, sink, signal),
        );
      },
    },
  };
}

async function writeServices(
  { host, root, journal }: Omit<ServiceLogsOptions, 'clock'>,
  query: NodeLogQuery,
  sink: BodySink,
  signal: AbortSignal,
): Promise<void> {
  // Without a journal every service must have a file.
  const units = await journal.units(signal).catch(() => new Set<string>());
  const isNative = (service: string): boolean => units.has(`${service}.service`);
  const native = query.services.filter(isNative);
  if (native.length > 0) {
    try {
      await journal.read(journalCommand(query, native), (bytes) => sink.write(bytes), signal);
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
    const file = await logFileOf(host, root, service);
    if (file === undefined) {
      await sink.write(Buffer.from(`\nlog not found for ${service}\n`));
      continue;
    }
    const { sizeBytes } = await file.stat();
    await writeFileTo(file, { start: 0, end: sizeBytes - 1 }, sink, signal);
  }
}

async function logFileOf(host: NodeLogFiles, root: string, service: string): Promise<OpenedFile | undefined> {
  for (const name of [service, `${service}.log`, path.join(service, `${service}.log`)]) {
    try {
      const held = await holdLogFile(host, root, name);
      return await held.openFile().finally(() => held.close());
    } catch (error) {
      // Missing, or not a file: the next name may be one.
      if (!isHostError(error)) throw error;
    }
  }
  return undefined;
}

const unitListLimitBytes = 4 << 20;

/** Messages are in the journal's own encoding. */
const environment = () => plainEnvironment({ LC_ALL: 'C.UTF-8' });

export const systemJournal: Journal = {
  async units(signal) {
    const chunks: Buffer[] = [];
    let sizeBytes = 0;
    await streamProgram(CommandLine.of('journalctl').option('--field', '_SYSTEMD_UNIT'), {
      env: environment(),
      signal,
      write: async (chunk) => {
        sizeBytes += chunk.length;
        if (sizeBytes <= unitListLimitBytes) chunks.push(chunk);
      },
    });
    return new Set(Buffer.concat(chunks).toString().split('\n'));
  },
  read: (command, write, signal) => streamProgram(command, { env: environment(), signal, write }),
};
