/** The table of commands: name, flags and how to run each. */
import type { CommandSpec } from './client/command.js';
import { setV8Flags } from './v8-flags.js';

export interface Command {
  readonly name: string;
  /** What follows the name in the overview. */
  readonly synopsis: string;
  readonly about: string;
  /** Describes the flags. Absent for commands without flags. */
  readonly spec?: () => Promise<CommandSpec>;
  /** Runs the command with the words after its name and returns the exit code. */
  readonly run: (argv: readonly string[]) => Promise<number>;
}

/** In the order of the overview. Commands are imported when they run, so that each loads only its own code. */
export const commands: readonly Command[] = [
  {
    name: 'run',
    synopsis: 'FILE …',
    about: 'run the pods of manifests on this machine; needs no cluster and no setup',
    spec: async () => (await import('./run/options.js')).runSpec,
    run: async (argv) => (await import('./run/index.js')).runRun(argv),
  },
  {
    name: 'up',
    synopsis: '[flags]',
    about: 'make this machine a Kubernetes of one node, for kubectl; needs no cluster',
    spec: async () => (await import('./up/options.js')).upSpec,
    run: async (argv) => {
      setV8Flags('agent');
      return (await import('./up/index.js')).runUp(argv);
    },
  },
  {
    name: 'agent',
    synopsis: '[flags]',
    about: 'run as the agent of a node; "agent" may be left out before a flag',
    spec: async () => (await import('./agent-spec.js')).agentSpec,
    run: async (argv) => {
      // V8 reads its flags as it compiles, so they come before the agent's code.
      setV8Flags('agent');
      return (await import('./agent.js')).runAgent(argv);
    },
  },
  {
    name: 'hollow',
    synopsis: '--nodes N',
    about: 'let many simulated nodes join a cluster from one process, to test what runs there',
    spec: async () => (await import('./hollow/options.js')).hollowSpec,
    run: async (argv) => (await import('./hollow/index.js')).runHollow(argv),
  },
  {
    name: 'ps',
    synopsis: '',
    about: 'list the containers of all runs',
    spec: async () => (await import('./ps.js')).psSpec,
    run: async (argv) => (await import('./ps.js')).runPs(argv),
  },
  {
    name: 'get',
    synopsis: 'pods',
    about: 'list pods, with the flags and output of kubectl get',
    spec: async () => (await import('./get.js')).getSpec,
    run: async (argv) => (await import('./get.js')).runGet(argv),
  },
  {
    name: 'logs',
    synopsis: 'POD',
    about: 'print the logs of a pod',
    spec: async () => (await import('./logs.js')).logsSpec,
    run: async (argv) => (await import('./logs.js')).runLogs(argv),
  },
  {
    name: 'exec',
    synopsis: 'POD -- CMD',
    about: 'run a command in a container',
    spec: async () => (await import('./exec.js')).execSpec,
    run: async (argv) => (await import('./exec.js')).runExec(argv),
  },
  {
    name: 'port-forward',
    synopsis: 'POD',
    about: 'forward local ports to a pod',
    spec: async () => (await import('./port-forward.js')).portForwardSpec,
    run: async (argv) => (await import('./port-forward.js')).runPortForward(argv),
  },
  {
    name: 'stop',
    synopsis: '[POD]',
    about: 'stop one pod, or the whole run',
    spec: async () => (await import('./stop.js')).stopSpec,
    run: async (argv) => (await import('./stop.js')).runStop(argv),
  },
  {
    name: 'replay',
    synopsis: 'DIR',
    about: 'run the kubelet again over what an agent recorded, and show where it decides otherwise',
    spec: async () => (await import('./replay.js')).replaySpec,
    run: async (argv) => (await import('./replay.js')).runReplay(argv),
  },
  {
    name: 'explain',
    synopsis: 'POD',
    about: 'show what happened to a pod, why, and what it waits for',
    spec: async () => (await import('./explain.js')).explainSpec,
    run: async (argv) => (await import('./explain.js')).runExplain(argv),
  },
  {
    name: 'ui',
    synopsis: '[flags]',
    about: 'show a node in a browser: pods, why they wait, logs, terminals, where time goes',
    spec: async () => (await import('./ui.js')).uiSpec,
    run: async (argv) => (await import('./ui.js')).runUi(argv),
  },
  {
    name: 'describe',
    synopsis: 'node',
    about: 'show what the node has, who was given what, and what is free',
    spec: async () => (await import('./describe.js')).describeSpec,
    run: async (argv) => (await import('./describe.js')).runDescribe(argv),
  },
  {
    name: 'what-if',
    synopsis: 'QUESTION',
    about: 'show what eviction, cleanup, a shutdown or a new configuration would do now',
    spec: async () => (await import('./what-if.js')).whatIfSpec,
    run: async (argv) => (await import('./what-if.js')).runWhatIf(argv),
  },
  {
    name: 'cri',
    synopsis: 'serve',
    about: 'serve a built-in runtime on a CRI socket',
    spec: async () => (await import('./cri-serve.js')).criServeSpec,
    run: async (argv) => (await import('./cri-serve.js')).runCri(argv),
  },
  {
    name: 'completion',
    synopsis: 'SHELL',
    about: 'print the completion script for bash, zsh or fish',
    run: async (argv) => (await import('./completion.js')).runCompletion(argv),
  },
  {
    name: 'version',
    synopsis: '',
    about: 'print the version of nodelet; nodelet --version prints the Kubernetes version',
    run: async () => {
      const { version } = await import('../agent/version.js');
      process.stdout.write(`nodelet ${version}\n`);
      return 0;
    },
  },
  {
    name: 'help',
    synopsis: '[COMMAND]',
    about: 'print this help, or the help of a command',
    run: async ([name]) => {
      if (name !== undefined && name !== 'help') return runCommandLine([name, '--help']);
      process.stdout.write(overview());
      return 0;
    },
  },
];

export const commandNames: readonly string[] = commands.map(({ name }) => name);

/** Runs `nodelet …` and returns the exit code. */
export async function runCommandLine(argv: readonly string[]): Promise<number> {
  const [first = 'help', ...rest] = argv;
  const found = findCommand(first === '--help' || first === '-h' ? 'help' : first);
  if (found !== undefined) return found.run(rest);
  // "agent" may be left out.
  const agent = first.startsWith('-') ? findCommand('agent') : undefined;
  if (agent !== undefined) return agent.run(argv);
  const { nearestName } = await import('../flags/index.js');
  const near = nearestName(first, commandNames);
  process.stderr.write(
    `nodelet: unknown command ${JSON.stringify(first)}${near === undefined ? '' : `; did you mean ${near}?`}\n` +
      `Run 'nodelet help' to see the commands.\n`,
  );
  return 1;
}

/** The description of a command whose flags can be completed. */
export async function loadCommandSpec(name: string): Promise<CommandSpec | undefined> {
  return findCommand(name)?.spec?.();
}

function findCommand(wanted: string): Command | undefined {
  return commands.find(({ name }) => name === wanted);
}

function overview(): string {
  const heads = commands.map(({ name, synopsis }) => `nodelet ${name} ${synopsis}`.trimEnd());
  const width = Math.max(...heads.map(({ length }) => length));
  const rows = commands.map(({ about }, at) => `  ${(heads[at] ?? '').padEnd(width)}  ${about}`);
  return `nodelet runs the pods of one Kubernetes node.

Usage:
${rows.join('\n')}

The agent takes the reference kubelet's flags and configuration file:
  nodelet agent --help

Examples:
  # run the pods of a file on this machine until Ctrl-C
  nodelet run web.yaml
  # run as a node of a cluster
  nodelet agent --kubeconfig /etc/kubernetes/kubelet.conf --config /var/lib/kubelet/config.yaml
  # run all pod manifests of a directory, without a cluster, on the containerd of this machine
  nodelet agent --pod-manifest-path /etc/kubernetes/manifests
`;
}
