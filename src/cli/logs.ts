/** `nodelet logs`: prints container logs as `kubectl logs` does. */

import { once } from 'node:events';
import { bool, type FlagValues, string } from '../flags/index.js';
import type { Pod } from '../kube/types/index.js';
import { parseDuration } from '../kube/values/go-format.js';
import { type CommandSpec, namespaceFlag, runCommand, runFlags } from './client/command.js';
import { type Connection, connectTo, sendRequest } from './client/connection.js';
import { wholeNumber } from './client/flags.js';
import { chooseContainer, choosePod, containersOf, listPods, podPath } from './client/pods.js';
import { UsageError } from './client/usage-error.js';
import { LinePrefix } from './print/line-prefix.js';

const flags = {
  follow: { type: bool, shorthand: 'f', about: 'follow the log until the container ends or Ctrl-C' },
  previous: { type: bool, shorthand: 'p', about: 'print the log of the previous instance of the container' },
  container: {
    type: string,
    shorthand: 'c',
    valueName: 'NAME',
    about: "the container (default: the pod's first)",
  },
  'all-containers': { type: bool, about: 'print the logs of all containers of the pod' },
  prefix: { type: bool, about: 'prefix each line with pod and container' },
  tail: { type: string, valueName: 'LINES', about: 'print only the last lines; -1 prints all (default -1)' },
  since: {
    type: string,
    valueName: 'DURATION',
    about: 'print only lines newer than this, as in 30s, 5m or 1h30m',
  },
  'since-time': {
    type: string,
    valueName: 'TIME',
    about: 'print only lines after this time, as in 2026-01-02T15:04:05Z',
  },
  timestamps: { type: bool, about: 'prefix each line with its time' },
  'limit-bytes': {
    type: string,
    valueName: 'BYTES',
    about: 'print at most this many bytes of each container',
  },
  ...namespaceFlag,
  ...runFlags,
} as const;

export const logsSpec: CommandSpec<typeof flags> = {
  name: 'logs',
  about: 'Prints the logs of the containers of a pod.',
  synopsis: ['[-f] [-p] POD [CONTAINER] [flags]', 'POD --all-containers [flags]'],
  flags,
  examples: [
    ['nodelet logs web', "print the log of a pod's first container"],
    ['nodelet logs -f web -c app --tail 10', 'print the last ten lines of a container, then follow its log'],
    ['nodelet logs -p crash', 'print the log of the previous instance of a container'],
    [
      'nodelet logs web --all-containers --prefix --since 5m',
      'print the last five minutes of all containers',
    ],
  ],
};

export function runLogs(argv: readonly string[]): Promise<number> {
  return runCommand(logsSpec, argv, async ({ values, positionals }) => {
    const { podName, containerName, all, query } = logsRequest(values, positionals);
    const connection = await connectTo(values);
    const pod = choosePod(await listPods(connection), { name: podName, namespace: values.namespace });
    const containers = all ? allContainers(pod) : [chosen(pod, containerName)];
    const prefixed = values.prefix;
    const read = (container: string): Promise<void> =>
      copyLog(connection, pod, container, query, prefixed ? prefixOf(pod, container) : undefined);
    if (values.follow && containers.length > 1) return followAll(containers, read);
    for (const container of containers) await read(container);
    return 0;
  });
}

export interface LogsRequest {
  readonly podName: string;
  readonly containerName: string | undefined;
  readonly all: boolean;
  /** The query of the request to the kubelet API. */
  readonly query: string;
}

export function logsRequest(values: FlagValues<typeof flags>, positionals: readonly string[]): LogsRequest {
  const [podName, positional, ...extra] = positionals;
  if (podName === undefined) throw new UsageError('name a pod: nodelet logs POD');
  if (extra.length > 0)
    throw new UsageError(`one pod and one container at most: ${extra.join(' ')} is too much`);
  if (positional !== undefined && values.container !== undefined)
    throw new UsageError('name the container once: with -c, or after the pod');
  const containerName = positional ?? values.container;
  const all = values['all-containers'];
  if (all && containerName !== undefined)
    throw new UsageError('--all-containers and a container exclude each other');
  return { podName, containerName, all, query: logsQuery(values) };
}

function logsQuery(values: FlagValues<typeof flags>): string {
  const query = new URLSearchParams();
  if (values.follow) query.set('follow', 'true');
  if (values.previous) query.set('previous', 'true');
  if (values.timestamps) query.set('timestamps', 'true');
  const tail = wholeNumber('--tail', values.tail, -1);
  if (tail !== undefined && tail >= 0) query.set('tailLines', String(tail));
  const limitBytes = wholeNumber('--limit-bytes', values['limit-bytes'], 0);
  if (limitBytes !== undefined && limitBytes > 0) query.set('limitBytes', String(limitBytes));
  const { since, 'since-time': sinceTime } = values;
  if (since !== undefined && sinceTime !== undefined)
    throw new UsageError('at most one of --since and --since-time may be used');
  if (since !== undefined) {
    // The API takes whole seconds and refuses zero.
    query.set('sinceSeconds', String(Math.max(1, Math.round(sinceMs(since) / 1000))));
  }
  if (sinceTime !== undefined) {
    if (!/^\d{4}-\d\d-\d\dT/.test(sinceTime) || Number.isNaN(Date.parse(sinceTime)))
      throw new UsageError(`--since-time ${sinceTime}: write a time as 2026-01-02T15:04:05Z`);
    query.set('sinceTime', sinceTime);
  }
  return query.toString();
}

function sinceMs(text: string): number {
  try {
    return parseDuration(text);
  } catch (error) {
    throw new UsageError(`--since: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

/** Init containers first: they ran first. */
function allContainers(pod: Pod): string[] {
  const rank = { init: 0, container: 1, ephemeral: 2 } as const;
  return [...containersOf(pod)].sort((a, b) => rank[a.kind] - rank[b.kind]).map(({ name }) => name);
}

function chosen(pod: Pod, wanted: string | undefined): string {
  const { name, note } = chooseContainer(pod, wanted);
  if (note !== undefined) process.stderr.write(`${note}\n`);
  return name;
}

function prefixOf(pod: Pod, container: string): string {
  return `[pod/${pod.metadata.name}/${container}] `;
}

/** Follows all containers. A failure of one does not stop the others. */
async function followAll(
  containers: readonly string[],
  read: (container: string) => Promise<void>,
): Promise<number> {
  const outcomes = await Promise.allSettled(containers.map(read));
  let failed = false;
  for (const outcome of outcomes) {
    if (outcome.status === 'fulfilled') continue;
    failed = true;
    const { reason } = outcome;
    process.stderr.write(`nodelet logs: ${reason instanceof Error ? reason.message : String(reason)}\n`);
  }
  return failed ? 1 : 0;
}

async function copyLog(
  connection: Connection,
  pod: Pod,
  container: string,
  query: string,
  prefix: string | undefined,
): Promise<void> {
  const response = await sendRequest(connection, `${podPath('containerLogs', pod, container)}?${query}`);
  const lines = prefix === undefined ? undefined : new LinePrefix(prefix);
  for await (const chunk of response as AsyncIterable<Buffer>) {
    await print(lines === undefined ? chunk : lines.take(chunk));
  }
  if (lines !== undefined) await print(lines.rest());
}

/** Waits for a slow reader. This holds back the log at its source. */
async function print(bytes: Buffer): Promise<void> {
  if (bytes.length > 0 && !process.stdout.write(bytes)) await once(process.stdout, 'drain');
}
