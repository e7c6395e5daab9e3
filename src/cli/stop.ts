/** `nodelet stop`: ends pods, or whole runs. */

import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../async/index.js';
import { bool, type FlagValues, string } from '../flags/index.js';
import type { PodRef } from '../timeline/index.js';
import { type CommandSpec, namespaceFlag, runCommand, runFlags } from './client/command.js';
import { ask, askLines, type Connection, connectTo, isNobodyThere } from './client/connection.js';
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
    'Without a pod, it stops the whole run. The command returns when everything has stopped.',
    'If the run has crashed, it kills and removes what is left of it.',
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
        run.alive ? stopRun({ socketPath: run.socketPath, run }, query) : removeDeadRun(run.name),
      ),
    );
    return Math.max(...codes);
  });
}

/** Its containers may have outlived it, and nobody else would end them. */
async function removeDeadRun(name: string): Promise<number> {
  const { removeLeftOver } = await import('./run/left-over.js');
  await removeLeftOver(name, systemClock);
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
  for await (const { state, pods: told } of askLines<StopLine>(connection, `/stop?${query}`, {
    method: 'POST',
  })) {
    if (state !== 'stopped') continue;
    stopped = true;
    for (const { name } of told) process.stdout.write(`pod "${name}" stopped\n`);
  }
  if (!stopped) throw new CommandFailure('the run ended before it had said that the pods stopped');
  return 0;
}

const lookAgainMs = 100;

/** The run answers until it goes. */
async function stopRun(connection: Connection, query: URLSearchParams): Promise<number> {
  try {
    for await (const _ of askLines<StopLine>(connection, `/stop?${query}`, { method: 'POST' })) {
      // What counts is that it ends.
    }
  } catch (error) {
    if (error instanceof CommandFailure) throw error;
    // The connection broke off with the process.
  }
  while (await isThere(connection)) await sleep(lookAgainMs);
  const { run } = connection;
  process.stdout.write(run === undefined ? 'stopped\n' : `run "${run.name}" stopped\n`);
  return 0;
}

/** A run closes its socket before it has cleaned up, so its process is what counts where it is known. */
async function isThere(connection: Connection): Promise<boolean> {
  const { run } = connection;
  if (run !== undefined) return (await listRuns()).some(({ pid, alive }) => alive && pid === run.pid);
  try {
    (await ask(connection, '/api/info')).destroy();
    return true;
  } catch (error) {
    return !isNobodyThere(error);
  }
}
