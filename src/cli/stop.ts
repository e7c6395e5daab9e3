/** `nodelet stop`: stops pods, or whole runs. */

import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../async/index.js';
import { bool, type FlagValues, string } from '../flags/index.js';
import type { PodRef } from '../timeline/index.js';
import { type CommandSpec, namespaceFlag, runCommand, runFlags } from './client/command.js';
import {
  type Connection,
  connectTo,
  isNotListening,
  requestLines,
  sendRequest,
} from './client/connection.js';
import { wholeNumber } from './client/flags.js';
import { choosePod, listPods } from './client/pods.js';
import { CommandFailure, UsageError } from './client/usage-error.js';
import { findRun, listRuns } from './run/state.js';

const flags = {
  all: { type: bool, about: 'stop all runs of this user' },
  'grace-period': {
    type: string,
    valueName: 'SECONDS',
    about: 'how long containers may take to stop; 0 kills them at once',
  },
  now: { type: bool, about: 'the same as --grace-period 1' },
  ...namespaceFlag,
  ...runFlags,
} as const;

export const stopSpec: CommandSpec<typeof flags> = {
  name: 'stop',
  about: 'Stops pods of a run, or the whole run with all its pods.',
  synopsis: ['[POD…] [flags]'],
  notes: [
    'Without a pod, the command stops the whole run. It returns when everything has stopped.',
    'If the run has crashed, the command kills and removes what is left of it.',
  ].join('\n'),
  flags,
  examples: [
    ['nodelet stop web', 'stop one pod; the others keep running'],
    ['nodelet stop', 'stop the run with all its pods'],
    ['nodelet stop --all --now', 'stop all runs, with one second of grace'],
  ],
};

export function runStop(argv: readonly string[]): Promise<number> {
  return runCommand(stopSpec, argv, async ({ values, positionals }) => {
    const query = new URLSearchParams();
    const graceSeconds = gracePeriod(values);
    if (graceSeconds !== undefined) query.set('gracePeriodSeconds', String(graceSeconds));
    if (positionals.length > 0) {
      if (values.all) throw new UsageError('name pods or use --all, not both');
      return stopPods(await connectTo(values), positionals, values.namespace, query);
    }
    query.set('all', '1');
    if (values.socket !== undefined) return stopRun({ socketPath: values.socket }, query);
    const runs = values.all ? await listRuns() : [await findRun(values.run)];
    if (runs.length === 0) throw new CommandFailure('nothing runs');
    const codes = await Promise.all(
      runs.map((run) =>
        run.alive ? stopRun({ socketPath: run.socketPath, run }, query) : removeCrashedRun(run.name),
      ),
    );
    return Math.max(...codes);
  });
}

/** Containers of a crashed run may still run. */
async function removeCrashedRun(name: string): Promise<number> {
  const { cleanUpCrashedRun } = await import('./run/left-over.js');
  await cleanUpCrashedRun(name, systemClock);
  process.stdout.write(`run "${name}" had crashed; what it left is removed\n`);
  return 0;
}

export function gracePeriod(
  values: Pick<FlagValues<typeof flags>, 'grace-period' | 'now'>,
): number | undefined {
  const seconds = wholeNumber('--grace-period', values['grace-period'], -1);
  if (values.now && seconds !== undefined && seconds >= 0)
    throw new UsageError('--now and --grace-period cannot be specified together');
  if (values.now) return 1;
  return seconds === undefined || seconds < 0 ? undefined : seconds;
}

interface StopLine {
  readonly state: 'stopping' | 'stopped';
  readonly pods: readonly PodRef[];
}

async function stopPods(
  connection: Connection,
  names: readonly string[],
  namespace: string | undefined,
  query: URLSearchParams,
): Promise<number> {
  const pods = await listPods(connection);
  for (const name of names) {
    const { metadata } = choosePod(pods, { name, namespace });
    query.append('pod', `${metadata.namespace}/${metadata.name}`);
  }
  let stopped = false;
  for await (const { state, pods: stoppedPods } of requestLines<StopLine>(connection, `/stop?${query}`, {
    method: 'POST',
  })) {
    if (state !== 'stopped') continue;
    stopped = true;
    for (const { name } of stoppedPods) process.stdout.write(`pod "${name}" stopped\n`);
  }
  if (!stopped) throw new CommandFailure('the run ended before it confirmed that the pods stopped');
  return 0;
}

const pollMs = 100;

/** Returns when the run has ended. */
async function stopRun(connection: Connection, query: URLSearchParams): Promise<number> {
  try {
    for await (const _ of requestLines<StopLine>(connection, `/stop?${query}`, { method: 'POST' })) {
      // Only the end of the response matters.
    }
  } catch (error) {
    if (error instanceof CommandFailure) throw error;
    // The connection broke when the process exited.
  }
  while (await isRunning(connection)) await sleep(pollMs);
  const { run } = connection;
  process.stdout.write(run === undefined ? 'stopped\n' : `run "${run.name}" stopped\n`);
  return 0;
}

/** A run closes its socket before it has cleaned up, so check its process when that is known. */
async function isRunning(connection: Connection): Promise<boolean> {
  const { run } = connection;
  if (run !== undefined) return (await listRuns()).some(({ pid, alive }) => alive && pid === run.pid);
  try {
    (await sendRequest(connection, '/api/info')).destroy();
    return true;
  } catch (error) {
    return !isNotListening(error);
  }
}
