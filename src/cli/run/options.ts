/** The command line of `nodelet run`. */

import { labelKeyProblems, labelValueProblems, parseLabels } from '../../config/index.js';
import { bool, type FlagSpecs, flagHelp, string, strings } from '../../flags/index.js';
import type { CommandSpec } from '../client/command.js';
import { parseCommandFlags } from '../client/flags.js';
import { UsageError } from '../client/usage-error.js';
import type { WantedRuntime } from '../runtime-choice.js';
import { isAddress } from './input-address.js';
import { badRunName, defaultRunName } from './state.js';

const runtimes = ['auto', 'containerd', 'process'] as const satisfies readonly WantedRuntime[];

const flags = {
  filename: {
    type: strings,
    shorthand: 'f',
    valueName: 'FILE',
    about: 'add a manifest, as with kubectl; may be repeated',
  },
  logs: { type: bool, about: 'show the logs of all containers instead of the table' },
  detach: {
    type: bool,
    shorthand: 'd',
    about: 'run in the background; see "nodelet ps", stop with "nodelet stop"',
  },
  watch: {
    type: bool,
    shorthand: 'w',
    about: 'follow the files and directories: changed manifests change the pods, until you stop the run',
  },
  api: {
    type: bool,
    about: 'give the run an API for kubectl: a Kubernetes of one node that ends with the run; see below',
  },
  name: {
    type: string,
    valueName: 'NAME',
    about: `the name of this run; several runs need different names (default "${defaultRunName}")`,
  },
  runtime: {
    type: string,
    valueName: 'RUNTIME',
    choices: runtimes,
    about: [
      'what pods run on (default auto):',
      '  auto        a running containerd or CRI-O, else containerd, else process',
      '  containerd  a private containerd, which nodelet starts and stops (root only)',
      '  process     plain processes of this machine, without isolation; needs nothing',
    ].join('\n'),
  },
  'container-runtime-endpoint': {
    type: string,
    valueName: 'SOCKET',
    about: 'the CRI socket of a running container runtime',
  },
  'node-labels': {
    type: strings,
    valueName: 'KEY=VALUE,…',
    about: 'labels of the node, for pods with a nodeSelector or node affinity',
  },
  quiet: { type: bool, shorthand: 'q', about: 'print only problems' },
  help: { type: bool, shorthand: 'h', about: 'show this help' },
} as const satisfies FlagSpecs;

export const runUsage = `Runs the pods of manifests on this machine and shows their state. Ctrl-C stops them all.

Usage:
  nodelet run FILE|DIR|URL|- … [flags]

Manifests are YAML or JSON and may hold many objects: Pods, Lists, Deployments, ReplicaSets, StatefulSets, DaemonSets
and Jobs, and the ConfigMaps, Secrets, PersistentVolumes and claims that their pods use. DIR reads the
files that end in .yaml, .yml or .json; "-" is standard input. Without --watch, manifests are read once: to change
something, stop the run and start it again.

With --watch, a changed manifest changes its pods, a new one starts some, and a removed one ends them. What a running
pod can take is changed in place: images, cpu and memory, labels, annotations, further tolerations, a shorter
activeDeadlineSeconds. For anything else the pod ends gracefully, then another one takes its place; "nodelet explain
POD" says why. ConfigMaps and Secrets reach the volumes of running pods. A manifest with errors is told and changes
nothing. URLs are read once.

With --api, the run is a Kubernetes of one node, as of "nodelet up": it applies the manifests to its own API, prints
the kubeconfig for kubectl, and has controllers and Services; pods get the names that controllers give them. It runs
until you stop it, then ends all pods and removes the API with all objects. With --watch it follows the files. Use
--api to try manifests with kubectl; use "nodelet up" for what is to stay: it keeps objects and pods over restarts.
"nodelet run" without --api starts faster, and needs nothing but the manifests.

The node of a run is this machine: a pod that requests more than is left of it, or that selects other nodes, is refused.
"nodelet describe node" shows what the node has, who holds it and what is free.

The run ends when you stop it, or, without --watch and --api, when all its pods have ended and none has restartPolicy
Always. The exit code is 1 if such a pod failed or a manifest had errors (followed ones: has errors at the end), 2 if
the command line is wrong, and 0 otherwise; with --api, pods do not count. The run leaves nothing behind.

Flags:
${flagHelp(flags, { column: 26 }).join('\n')}

The first Ctrl-C (or SIGTERM) stops the pods with their grace periods. The second one kills them.

Environment:
  NO_COLOR                switches colours off
  NODELET_STATE_DIR       a directory for the state of runs, instead of the default ones

Examples:
  nodelet run web.yaml                      run the pods of a file
  nodelet run ./manifests --logs            run a directory and follow all logs
  nodelet run --watch ./manifests           follow a directory while you edit it
  nodelet run -d --name db db.yaml          run in the background …
  nodelet logs -f db-0 --name db            … and follow its logs
  nodelet stop --name db
  kubectl get deploy web -o yaml | nodelet run -
  nodelet run job.yaml && echo done         wait for a job
  nodelet run --runtime process web.yaml    containers as plain processes
`;

export interface RunOptions {
  readonly inputs: readonly string[];
  readonly logs: boolean;
  readonly detach: boolean;
  readonly watch: boolean;
  /** Whether the run has an API of its own. */
  readonly api: boolean;
  readonly name: string;
  readonly runtime: WantedRuntime;
  readonly endpoint: string | undefined;
  readonly nodeLabels: Readonly<Record<string, string>>;
  readonly quiet: boolean;
}

/** For completion; `--help` prints `runUsage`. */
export const runSpec: CommandSpec<typeof flags> = {
  name: 'run',
  about: 'Runs the pods of manifests on this machine.',
  synopsis: ['FILE|DIR|URL|- … [flags]'],
  flags,
  examples: [],
};

/** Throws a UsageError that says what to write instead. */
export function parseRunArguments(argv: readonly string[]): RunOptions | 'help' {
  const { values, positionals, rest = [] } = parseCommandFlags(argv, flags);
  if (values.help) return 'help';
  const inputs = [...positionals, ...values.filename, ...rest];
  if (inputs.length === 0) throw new UsageError('name a manifest, a directory or a URL');
  if (inputs.filter((input) => input === '-').length > 1)
    throw new UsageError('"-" is given twice, but standard input can be read only once');
  if (values.watch && inputs.includes('-'))
    throw new UsageError('--watch cannot follow standard input: write the manifests to a file and name that');
  if (values.watch && inputs.every(isAddress))
    throw new UsageError('--watch follows files and directories, and URLs are read once: name a file');
  const foreign = inputs.find((input) => input === '-' || isAddress(input));
  if (values.api && foreign !== undefined)
    throw new UsageError(`--api takes files and directories, not ${foreign}: write the manifests to a file`);
  const { runtime = 'auto', name = defaultRunName } = values;
  const wanted = runtimes.find((known) => known === runtime);
  if (wanted === undefined) throw new UsageError(`--runtime ${runtime}: write auto, containerd or process`);
  const bad = badRunName(name);
  if (bad !== undefined) throw new UsageError(`--name: ${bad}`);
  return {
    inputs,
    logs: values.logs,
    detach: values.detach,
    watch: values.watch,
    api: values.api,
    name,
    runtime: wanted,
    endpoint: values['container-runtime-endpoint'],
    nodeLabels: nodeLabels(values['node-labels']),
    quiet: values.quiet,
  };
}

/** Unlike an agent, a run may give its node any label: no cluster trusts them. */
function nodeLabels(given: readonly string[]): Readonly<Record<string, string>> {
  const labels = parseLabels(given.join(','));
  for (const [key, value] of Object.entries(labels)) {
    const [problem] = [...labelKeyProblems(key), ...labelValueProblems(value)];
    if (problem !== undefined) throw new UsageError(`--node-labels ${JSON.stringify(key)}: ${problem}`);
  }
  return labels;
}
