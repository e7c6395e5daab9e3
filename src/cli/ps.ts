/** `nodelet ps`: lists the containers of all runs. */
import { bool, string } from '../flags/index.js';
import type { ContainerStatus, Pod } from '../kube/types/index.js';
import { formatAge } from '../kube/values/age.js';
import { type CommandSpec, runCommand, runFlags } from './client/command.js';
import { type Connection, crashedRunText } from './client/connection.js';
import { containersOf, listPods, podName } from './client/pods.js';
import { CommandFailure, UsageError } from './client/usage-error.js';
import { jsonText } from './print/objects.js';
import { formatTable } from './print/table.js';
import { listRuns } from './run/state.js';

const flags = {
  quiet: { type: bool, shorthand: 'q', about: 'print container IDs only' },
  output: {
    type: string,
    shorthand: 'o',
    valueName: 'FORMAT',
    choices: ['json'],
    about: 'output format: json',
  },
  'no-trunc': { type: bool, about: 'do not shorten container IDs' },
  ...runFlags,
} as const;

export const psSpec: CommandSpec<typeof flags> = {
  name: 'ps',
  about: 'Lists the containers of all runs of this user.',
  synopsis: ['[flags]'],
  flags,
  examples: [
    ['nodelet ps', 'list all containers'],
    ['nodelet ps -q', 'print the IDs of all containers'],
    ['nodelet ps --run web -o json', 'print one run as JSON'],
  ],
};

export interface ContainerLine {
  readonly run: string;
  readonly pod: string;
  readonly namespace: string;
  readonly container: string;
  readonly kind: 'container' | 'init' | 'ephemeral';
  /** Without the runtime's prefix; empty before the container is created. */
  readonly id: string;
  readonly image: string;
  /** `Running`, `Waiting (CrashLoopBackOff)`, `Exited (1)`. */
  readonly state: string;
  readonly restarts: number;
  /** When the current state started, in RFC 3339; absent while the container waits. */
  readonly since?: string;
}

const shortIdLength = 13;

export function runPs(argv: readonly string[]): Promise<number> {
  return runCommand(psSpec, argv, async ({ values, positionals }) => {
    if (positionals.length > 0) throw new UsageError(`ps takes no names: ${positionals.join(' ')}`);
    if (values.output !== undefined && values.output !== 'json')
      throw new UsageError(`-o ${values.output}: the only format is json`);
    const runs = await connections(values);
    const lines: ContainerLine[] = [];
    let failed = false;
    for (const { name, connection } of runs) {
      try {
        for (const pod of await listPods(connection)) lines.push(...containerLines(name, pod));
      } catch (error) {
        if (runs.length === 1) throw error;
        failed = true;
        process.stderr.write(
          `nodelet ps: ${name}: ${error instanceof Error ? error.message : String(error)}\n`,
        );
      }
    }
    if (values.output === 'json') process.stdout.write(jsonText(lines));
    else if (values.quiet)
      process.stdout.write(lines.flatMap(({ id }) => (id === '' ? [] : [`${id}\n`])).join(''));
    else if (lines.length === 0) process.stderr.write('There are no containers.\n');
    else
      process.stdout.write(
        containerTable(lines, Date.now(), { wholeIds: values['no-trunc'], showRun: runs.length > 1 }),
      );
    return failed ? 1 : 0;
  });
}

async function connections(values: {
  readonly run: string | undefined;
  readonly socket: string | undefined;
}): Promise<{ readonly name: string; readonly connection: Connection }[]> {
  if (values.socket !== undefined) return [{ name: '', connection: { socketPath: values.socket } }];
  const runs = (await listRuns()).filter(({ name }) => values.run === undefined || name === values.run);
  const liveRuns = runs.filter(({ alive }) => alive);
  if (liveRuns.length > 0) {
    return liveRuns.map(({ name, socketPath }) => ({ name, connection: { socketPath } }));
  }
  const [crashed] = runs;
  if (crashed !== undefined) throw new CommandFailure(crashedRunText(crashed));
  const subject = values.run === undefined ? 'nothing runs' : `no run is named ${JSON.stringify(values.run)}`;
  throw new CommandFailure(`${subject}: start pods with nodelet run FILE (see nodelet run --help)`);
}

/** In the order of the pod's spec. */
export function containerLines(run: string, pod: Pod): ContainerLine[] {
  const {
    containerStatuses = [],
    initContainerStatuses = [],
    ephemeralContainerStatuses = [],
  } = pod.status ?? {};
  const statuses = {
    container: containerStatuses,
    init: initContainerStatuses,
    ephemeral: ephemeralContainerStatuses,
  };
  const { spec } = pod;
  const images = new Map(
    [...spec.containers, ...(spec.initContainers ?? []), ...(spec.ephemeralContainers ?? [])].map(
      ({ name, image }) => [name, image ?? ''],
    ),
  );
  return containersOf(pod).map(({ name, kind }) => {
    const status = statuses[kind].find((one) => one.name === name);
    const { state, since } = stateText(status);
    return {
      run,
      pod: podName(pod),
      namespace: pod.metadata.namespace,
      container: name,
      kind,
      id: (status?.containerID ?? '').replace(/^.*:\/\//, ''),
      image: images.get(name) ?? '',
      state,
      restarts: status?.restartCount ?? 0,
      ...(since ? { since } : {}),
    };
  });
}

function stateText(status: ContainerStatus | undefined): {
  state: string;
  since?: string | null | undefined;
} {
  const { running, terminated, waiting } = status?.state ?? {};
  if (running !== undefined) return { state: 'Running', since: running.startedAt };
  if (terminated !== undefined)
    return { state: `Exited (${terminated.exitCode})`, since: terminated.finishedAt };
  return { state: waiting?.reason ? `Waiting (${waiting.reason})` : 'Waiting' };
}

export function containerTable(
  lines: readonly ContainerLine[],
  nowMs: number,
  { wholeIds, showRun }: { readonly wholeIds: boolean; readonly showRun: boolean },
): string {
  const header = [
    ...(showRun ? ['RUN'] : []),
    'CONTAINER ID',
    'POD',
    'CONTAINER',
    'IMAGE',
    'STATE',
    'SINCE',
    'RESTARTS',
  ];
  const rows = lines.map(({ run, id, pod, container, kind, image, state, since, restarts }) => [
    ...(showRun ? [run] : []),
    (wholeIds ? id : id.slice(0, shortIdLength)) || '-',
    pod,
    kind === 'container' ? container : `${container} (${kind})`,
    image || '-',
    state,
    since === undefined ? '-' : formatAge(nowMs - Date.parse(since)),
    String(restarts),
  ]);
  return formatTable(header, rows);
}
