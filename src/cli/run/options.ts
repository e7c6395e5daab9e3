/** The command line of `nodelet run`. */
import type { CommandSpec } from '../client/command.js';
import { type FlagSpecs, parseFlags } from '../client/flags.js';
import { UsageError } from '../client/usage-error.js';
import type { WantedRuntime } from '../runtime-choice.js';
import { badRunName, defaultRunName } from './state.js';

export const runUsage = `Runs the pods of manifests on this machine and shows how they do. Ctrl-C stops them all.

Usage:
  nodelet run FILE|DIR|URL|- … [flags]

Takes Pods, Lists, the pods of Deployments, ReplicaSets, StatefulSets, DaemonSets and Jobs, and the ConfigMaps,
Secrets, PersistentVolumes and claims that they use, in YAML or JSON, many to a file. Of a folder, the files that end
in .yaml, .yml or .json are read; "-" is standard input. Manifests are read once: to change something, stop and run
again.

The run ends when you stop it, or by itself when all its pods are of the kind that ends (restartPolicy Never or
OnFailure, Jobs) and have ended. Its exit code is 1 if one of those failed or a manifest had errors, 2 if the command
line is not right, else 0. Nothing is left behind.

Flags:
  -f, --filename FILE     one more manifest, as kubectl names it; may be repeated
      --logs              show what all containers write instead of the table
  -d, --detach            go on in the background; look with "nodelet ps", end with "nodelet stop"
      --name NAME         the name of this run, for several side by side (default "${defaultRunName}")
      --runtime RUNTIME   what pods run on (default auto):
                            auto        a containerd or CRI-O that runs here, else containerd, else process
                            containerd  a containerd that nodelet starts and ends itself (root only)
                            process     plain processes of this machine, without isolation; needs nothing at all
      --container-runtime-endpoint SOCKET
                          the CRI socket of a running container runtime
  -q, --quiet             say only what goes wrong
  -h, --help              show this

A first Ctrl-C (or SIGTERM) lets the pods end within their grace periods, a second one kills them.

Environment:
  NO_COLOR                no colours
  NODELET_STATE_DIR       a folder for everything that runs keep, instead of the usual places

Examples:
  nodelet run web.yaml                      run the pods of a file
  nodelet run ./manifests --logs            run a folder and follow all logs
  nodelet run -d --name db db.yaml          run in the background …
  nodelet logs -f db-0 --name db            … and look at it
  nodelet stop --name db
  kubectl get deploy web -o yaml | nodelet run -
  nodelet run job.yaml && echo done         wait for a job
  nodelet run --runtime process web.yaml    containers as plain processes
`;

export interface RunOptions {
  readonly inputs: readonly string[];
  readonly logs: boolean;
  readonly detach: boolean;
  readonly name: string;
  readonly runtime: WantedRuntime;
  readonly endpoint: string | undefined;
  readonly quiet: boolean;
}

const runtimes = ['auto', 'containerd', 'process'] as const satisfies readonly WantedRuntime[];

const flags = {
  filename: { type: 'strings', short: 'f', value: 'FILE', help: 'one more manifest' },
  logs: { type: 'boolean', help: 'show what all containers write' },
  detach: { type: 'boolean', short: 'd', help: 'go on in the background' },
  name: { type: 'string', value: 'NAME', help: 'the name of this run' },
  runtime: { type: 'string', value: 'RUNTIME', values: runtimes, help: 'what pods run on' },
  'container-runtime-endpoint': { type: 'string', value: 'SOCKET', help: 'the CRI socket' },
  quiet: { type: 'boolean', short: 'q', help: 'say only what goes wrong' },
  help: { type: 'boolean', short: 'h', help: 'show this' },
} as const satisfies FlagSpecs;

/** For completion; what `--help` shows is `runUsage`. */
export const runSpec: CommandSpec<typeof flags> = {
  name: 'run',
  about: 'Runs the pods of manifests on this machine.',
  synopsis: ['FILE|DIR|URL|- … [flags]'],
  flags,
  examples: [],
};

/** Throws a UsageError that says what to write instead. */
export function parseRunArguments(argv: readonly string[]): RunOptions | 'help' {
  const { values, positionals, rest = [] } = parseFlags(argv, flags);
  if (values.help) return 'help';
  const inputs = [...positionals, ...values.filename, ...rest];
  if (inputs.length === 0) throw new UsageError('name a manifest, a folder or a URL');
  if (inputs.filter((input) => input === '-').length > 1)
    throw new UsageError('"-" is given twice, and standard input can be read but once');
  const { runtime = 'auto', name = defaultRunName } = values;
  const wanted = runtimes.find((known) => known === runtime);
  if (wanted === undefined) throw new UsageError(`--runtime ${runtime}: write auto, containerd or process`);
  const bad = badRunName(name);
  if (bad !== undefined) throw new UsageError(`--name: ${bad}`);
  return {
    inputs,
    logs: values.logs,
    detach: values.detach,
    name,
    runtime: wanted,
    endpoint: values['container-runtime-endpoint'],
    quiet: values.quiet,
  };
}
