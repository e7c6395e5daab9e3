/** The command line of `nodelet up`. */
import { homedir } from 'node:os';
import path from 'node:path';
import { errorText } from '../../async/index.js';
import { bool, type FlagSpecs, flagHelp, string, strings } from '../../flags/index.js';
import { defaultClusterCidr, ServiceAddresses } from '../../services/addresses/service-addresses.js';
import type { CommandSpec } from '../client/command.js';
import { parseCommandFlags } from '../client/flags.js';
import { UsageError } from '../client/usage-error.js';
import { isAddress } from '../run/input-address.js';
import type { WantedRuntime } from '../runtime-choice.js';
import { defaultStateDir } from './state-dir.js';

const runtimes = ['auto', 'containerd', 'process'] as const satisfies readonly WantedRuntime[];
const defaultPort = 6443;

const flags = {
  filename: {
    type: strings,
    shorthand: 'f',
    valueName: 'FILE',
    about: 'add a file or directory of manifests, as with kubectl; may be repeated',
  },
  'state-dir': {
    type: string,
    valueName: 'DIR',
    about: 'where objects, certificates and pods are kept (default /var/lib/nodelet/node for root)',
  },
  port: {
    type: string,
    valueName: 'PORT',
    about: `the port of the API on 127.0.0.1 (default ${defaultPort})`,
  },
  runtime: {
    type: string,
    valueName: 'RUNTIME',
    choices: runtimes,
    about: 'what pods run on: auto, containerd or process, as for "nodelet run" (default auto)',
  },
  'container-runtime-endpoint': {
    type: string,
    valueName: 'SOCKET',
    about: 'the CRI socket of a running container runtime',
  },
  'service-cidr': {
    type: string,
    valueName: 'CIDR',
    about: `the virtual addresses of Services; no other network may use them (default ${defaultClusterCidr})`,
  },
  'merge-kubeconfig': {
    type: bool,
    about: 'add the context "nodelet" to your kubeconfig ($KUBECONFIG or ~/.kube/config)',
  },
  quiet: { type: bool, shorthand: 'q', about: 'print only problems' },
  help: { type: bool, shorthand: 'h', about: 'show this help' },
} as const satisfies FlagSpecs;

export const upUsage = `Makes this machine a whole Kubernetes of one node: an API for kubectl, the node, and the controllers.

Usage:
  nodelet up [FILE|DIR …] [flags] [-- AGENT FLAGS]

Everything is in one process. The API listens on 127.0.0.1; only holders of the kubeconfig that it writes get in.
Objects live as manifests below the state directory, and are there again after a restart or a crash. Ctrl-C stops the
process and leaves the pods running; the next "nodelet up" takes them over.

Manifests of FILE and DIR (.yaml, .yml and .json directly in it) are applied to the API and followed, as by "kubectl
apply --server-side --prune" with the field manager "nodelet-manifests": a changed file changes its objects, a removed
one removes them. Objects that others made are never touched; namespaces are never removed. A file with errors is told
and changes nothing. Without FILE and DIR, objects of earlier manifests stay.

What follows "--" are flags of "nodelet agent", such as --node-labels or --v.

Flags:
${flagHelp(flags, { column: 26 }).join('\n')}

Examples:
  nodelet up ./manifests                    keep the API as the files of a directory have it
  nodelet up --merge-kubeconfig             then: kubectl --context nodelet get nodes
  export KUBECONFIG=/var/lib/nodelet/node/kubeconfig
  kubectl apply -f web.yaml
`;

export interface UpOptions {
  readonly stateDir: string;
  readonly port: number;
  readonly runtime: WantedRuntime;
  readonly endpoint: string | undefined;
  readonly serviceCidr: string;
  /** The file to merge into; undefined: none. */
  readonly mergeInto: string | undefined;
  /** Files and directories that are applied to the API and followed. */
  readonly manifests: readonly string[];
  readonly quiet: boolean;
  readonly agentFlags: readonly string[];
}

/** For completion; `--help` prints `upUsage`. */
export const upSpec: CommandSpec<typeof flags> = {
  name: 'up',
  about: 'Makes this machine a Kubernetes of one node.',
  synopsis: ['[FILE|DIR …] [flags] [-- AGENT FLAGS]'],
  flags,
  examples: [],
};

/** Throws a UsageError that says what to write instead. */
export function parseUpArguments(
  argv: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): UpOptions | 'help' {
  const { values, positionals, rest = [] } = parseCommandFlags(argv, flags);
  if (values.help) return 'help';
  const manifests = [...positionals, ...values.filename];
  for (const input of manifests)
    if (input === '-' || isAddress(input))
      throw new UsageError(
        `${input}: name files and directories, which are followed; apply others with kubectl`,
      );
  const { runtime = 'auto' } = values;
  const wanted = runtimes.find((known) => known === runtime);
  if (wanted === undefined) throw new UsageError(`--runtime ${runtime}: write auto, containerd or process`);
  return {
    stateDir: path.resolve(values['state-dir'] ?? defaultStateDir(env)),
    port: portOf(values.port),
    runtime: wanted,
    endpoint: values['container-runtime-endpoint'],
    serviceCidr: serviceCidr(values['service-cidr']),
    mergeInto: values['merge-kubeconfig'] ? userKubeconfig(env) : undefined,
    manifests,
    quiet: values.quiet,
    agentFlags: rest,
  };
}

function serviceCidr(given: string | undefined): string {
  try {
    return new ServiceAddresses(given ?? defaultClusterCidr).clusterCidr;
  } catch (error) {
    throw new UsageError(`--service-cidr: ${errorText(error)}`);
  }
}

function portOf(given: string | undefined): number {
  if (given === undefined) return defaultPort;
  const port = /^\d{1,5}$/.test(given) ? Number(given) : -1;
  if (port >= 0 && port <= 65_535) return port;
  throw new UsageError(`--port ${given}: write a number from 1 to 65535, or 0 for any free one`);
}

/** The first file of `$KUBECONFIG`, as kubectl writes to it. */
function userKubeconfig(env: NodeJS.ProcessEnv): string {
  const [first] = (env.KUBECONFIG ?? '').split(':');
  return first ? path.resolve(first) : path.join(env.HOME || homedir(), '.kube/config');
}
