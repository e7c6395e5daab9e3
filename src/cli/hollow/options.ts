/** The command line of `nodelet hollow`. */
import { homedir } from 'node:os';
import path from 'node:path';
import { parseLabels } from '../../config/index.js';
import { bool, type FlagSpecs, type FlagValues, string, strings } from '../../flags/index.js';
import { hollowLimits } from '../../hollow/limits.js';
import type { CommandSpec } from '../client/command.js';
import { parseCommandFlags, wholeNumber } from '../client/flags.js';
import { UsageError } from '../client/usage-error.js';
import { stateDirectories } from '../run/state.js';

/** What a node pretends to be. */
export const profileFlags = {
  cpu: { type: string, valueName: 'CPUS', about: 'CPUs of each node (default 32)' },
  memory: { type: string, valueName: 'AMOUNT', about: 'memory of each node (default 256Gi)' },
  'ephemeral-storage': { type: string, valueName: 'AMOUNT', about: 'disk of each node (default 500Gi)' },
  pods: { type: string, valueName: 'N', about: 'pods that each node takes (default 110)' },
  architecture: { type: string, valueName: 'NAME', about: 'processor of each node (default amd64)' },
  labels: { type: strings, valueName: 'KEY=VALUE', about: 'labels of each node; may be repeated' },
  taints: { type: strings, valueName: 'KEY=VALUE:EFFECT', about: 'taints of each node; may be repeated' },
  'name-prefix': {
    type: string,
    valueName: 'TEXT',
    about: 'what the names of nodes begin with (default hollow-)',
  },
  'node-name-template': {
    type: string,
    valueName: 'TEXT',
    about: 'names of nodes, with {index} where their number goes, instead of a prefix',
  },
  profiles: {
    type: string,
    valueName: 'FILE',
    about: 'a YAML file with groups of nodes that differ, instead of --nodes',
  },
} as const satisfies FlagSpecs;

export const socketFlag = {
  socket: {
    type: string,
    valueName: 'PATH',
    about: 'the socket for the commands below (default hollow.sock in the directory of runs)',
  },
  help: { type: bool, shorthand: 'h', about: 'show this help' },
} as const satisfies FlagSpecs;

const flags = {
  nodes: { type: string, valueName: 'N', about: 'how many nodes join the cluster' },
  kubeconfig: {
    type: string,
    valueName: 'FILE',
    about: 'the cluster, and an identity that may act for nodes (default $KUBECONFIG or ~/.kube/config)',
  },
  context: {
    type: string,
    valueName: 'NAME',
    about: 'the context of the kubeconfig (default: its current one)',
  },
  ...profileFlags,
  address: {
    type: string,
    valueName: 'IP',
    about: 'the address of this machine that the API server reaches (default: that of the default route)',
  },
  'first-port': {
    type: string,
    valueName: 'PORT',
    about: 'the port of the first node; the next ones follow (default: any free ones)',
  },
  'no-kubelet-api': { type: bool, about: 'open no ports: no logs, exec and metrics of nodes' },
  'client-ca-file': {
    type: string,
    valueName: 'FILE',
    about:
      'the authority of client certificates, such as that of the API server (default: that of the kubeconfig)',
  },
  'tls-cert-file': {
    type: string,
    valueName: 'FILE',
    about:
      'the certificate of all ports (default: signed by itself; the API server checks none unless told to)',
  },
  'tls-private-key-file': { type: string, valueName: 'FILE', about: 'the key of that certificate' },
  'nodes-per-second': { type: string, valueName: 'N', about: 'how many nodes join in a second (default 20)' },
  'calls-per-second': {
    type: string,
    valueName: 'N',
    about:
      'how many calls go to the API server in a second, leases and node statuses beside (default: no limit)',
  },
  threads: {
    type: string,
    valueName: 'N',
    about: 'threads that share the nodes, each with connections and watches of its own (default 1)',
  },
  'no-events': { type: bool, about: 'write no events of pods and nodes to the API' },
  'own-watches': { type: bool, about: 'let every node open its own watches, as a kubelet does' },
  'delete-nodes': { type: bool, about: 'delete the Node objects at the end; they stay otherwise' },
  quiet: { type: bool, shorthand: 'q', about: 'print only problems' },
  ...socketFlag,
} as const satisfies FlagSpecs;

export const hollowSpec: CommandSpec<typeof flags> = {
  name: 'hollow',
  about:
    'Lets many simulated nodes join a cluster from one process, with the whole kubelet and no containers.',
  synopsis: [
    '--nodes N [flags]',
    '--profiles FILE [flags]',
    'ps [-o json]',
    'add --nodes N [flags]',
    'remove|kill|cut|restore NODE …|--count N|--all',
  ],
  notes: [
    'Pods on these nodes behave by their annotations, such as sim.nodelet.dev/run-time: 30s; see docs/hollow.md. Every',
    'node has the label nodelet.dev/hollow=true and answers logs, exec and metrics on a port of its own.',
    '',
    'While the nodes run, another terminal can look at them and change them:',
    '  ps        show the nodes by state, and what the process uses',
    '  add       let more nodes join',
    '  remove    end nodes and delete their Node objects; --keep-nodes keeps these',
    '  kill      let machines die without a word: their leases are no longer renewed',
    '  cut       cut the network of nodes; their pods run on',
    '  restore   mend the network of nodes, or start dead machines again',
    '',
    'Ctrl-C ends all nodes. Their Node objects stay unless --delete-nodes is given: the cluster then sees them fail.',
  ].join('\n'),
  flags,
  examples: [
    ['nodelet hollow --nodes 100', 'let 100 nodes join the cluster of your kubeconfig'],
    [
      'nodelet hollow --profiles fleet.yaml --delete-nodes',
      'let a mixed fleet join, and leave nothing behind',
    ],
    ['nodelet hollow kill --count 5', 'let five of the nodes die'],
    ['nodelet hollow ps', 'see how they are'],
  ],
};

export type ProfileFlagValues = FlagValues<typeof profileFlags>;

export interface HollowRunOptions {
  readonly count: number | undefined;
  readonly kubeconfig: string;
  readonly context: string | undefined;
  readonly profileFlags: ProfileFlagValues;
  /** Undefined: found out. */
  readonly address: string | undefined;
  readonly firstPort: number;
  readonly servesKubeletApi: boolean;
  readonly clientCaFile: string | undefined;
  /** Undefined: one is made. */
  readonly certificate: { readonly certificateFile: string; readonly keyFile: string } | undefined;
  readonly nodesPerSecond: number;
  readonly callsPerSecond: number | undefined;
  readonly threads: number;
  readonly recordsEvents: boolean;
  readonly sharesWatches: boolean;
  readonly deletesNodes: boolean;
  readonly quiet: boolean;
  readonly socketPath: string;
}

/** Throws a UsageError that says what to write instead. */
export function parseHollowArguments(
  argv: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): HollowRunOptions | 'help' {
  const { values, positionals } = parseCommandFlags(argv, flags);
  if (values.help) return 'help';
  if (positionals[0] !== undefined)
    throw new UsageError(
      `unknown command ${JSON.stringify(positionals[0])}; use ps, add, remove, kill, cut or restore, or flags alone`,
    );
  const count = wholeNumber('--nodes', values.nodes, 1);
  if ((count === undefined) === (values.profiles === undefined))
    throw new UsageError('write how many nodes there are with --nodes, or what they are with --profiles');
  if (values['no-kubelet-api'] && (values['first-port'] ?? values['client-ca-file']) !== undefined)
    throw new UsageError('--no-kubelet-api opens no ports: leave out --first-port and --client-ca-file');
  const firstPort = wholeNumber('--first-port', values['first-port'], 1) ?? 0;
  if (firstPort + (count ?? 1) - 1 > 65_535)
    throw new UsageError(
      `--first-port ${firstPort} leaves no ports for ${count ?? 1} nodes: the last is 65535`,
    );
  return {
    count,
    kubeconfig: path.resolve(values.kubeconfig ?? userKubeconfig(env)),
    context: values.context,
    profileFlags: values,
    address: values.address,
    firstPort,
    servesKubeletApi: !values['no-kubelet-api'],
    clientCaFile: values['client-ca-file'],
    certificate: certificateFiles(values['tls-cert-file'], values['tls-private-key-file']),
    nodesPerSecond: wholeNumber('--nodes-per-second', values['nodes-per-second'], 1) ?? 20,
    callsPerSecond: wholeNumber('--calls-per-second', values['calls-per-second'], 1),
    threads: threadsOf(values.threads),
    recordsEvents: !values['no-events'],
    sharesWatches: !values['own-watches'],
    deletesNodes: values['delete-nodes'],
    quiet: values.quiet,
    socketPath: socketPathOf(values.socket),
  };
}

function threadsOf(text: string | undefined): number {
  const threads = wholeNumber('--threads', text, 1) ?? 1;
  if (threads > hollowLimits.threads)
    throw new UsageError(`--threads ${threads}: at most ${hollowLimits.threads} can be`);
  return threads;
}

function certificateFiles(
  certificateFile: string | undefined,
  keyFile: string | undefined,
): HollowRunOptions['certificate'] {
  if (certificateFile === undefined && keyFile === undefined) return undefined;
  if (certificateFile !== undefined && keyFile !== undefined) return { certificateFile, keyFile };
  throw new UsageError('write both --tls-cert-file and --tls-private-key-file, or neither');
}

export function socketPathOf(given: string | undefined): string {
  return given === undefined ? path.join(stateDirectories().runtimeDir, 'hollow.sock') : path.resolve(given);
}

function userKubeconfig(env: NodeJS.ProcessEnv): string {
  const [first] = (env.KUBECONFIG ?? '').split(':');
  return first || path.join(env.HOME || homedir(), '.kube/config');
}

/** Labels as one mapping; a label without a value has an empty one. */
export function labelsOf(texts: readonly string[]): Record<string, string> {
  return Object.assign({}, ...texts.map(parseLabels));
}
