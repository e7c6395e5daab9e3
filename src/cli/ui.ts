/** `nodelet ui`: shows a node in a browser, through a server on loopback that ends with the command. */
import { createInterface } from 'node:readline';
import { bool, string } from '../flags/index.js';
import { agentFlags } from './client/agent-connection.js';
import { type CommandSpec, runCommand, runFlags } from './client/command.js';
import { UsageError } from './client/usage-error.js';
import { uiTarget } from './ui-targets.js';

const flags = {
  port: { type: string, valueName: 'PORT', about: 'the port on 127.0.0.1 (default: any free one)' },
  wait: { type: bool, about: 'do not ask for the node to be there already' },
  kubeconfig: {
    type: string,
    valueName: 'FILE',
    about: 'reach the agent through the API server of this kubeconfig; needs --node',
  },
  node: { type: string, valueName: 'NAME', about: 'the node, with --kubeconfig' },
  'state-dir': {
    type: string,
    valueName: 'DIR',
    about: 'the state directory of a bare node ("nodelet up --state-dir")',
  },
  ...agentFlags,
  ...runFlags,
} as const;

export const uiSpec: CommandSpec<typeof flags> = {
  name: 'ui',
  about: 'Shows a node in a browser: its pods, why they wait, their logs, terminals, and where time goes.',
  synopsis: ['[flags]'],
  notes: [
    'Prints an address on 127.0.0.1 that lets one browser in, once; Enter prints another one. The page ends with the command.',
    '',
    'The node is a run of "nodelet run", the bare node of "nodelet up", or with --server or --kubeconfig an agent. The page',
    'may do what you may: the owner of the socket everything, and with an agent what your credentials allow on nodes/proxy, and',
    'with --kubeconfig on pods/exec for terminals.',
  ].join('\n'),
  flags,
  examples: [
    ['nodelet ui', 'show the run, or the bare node, of this machine'],
    ['nodelet ui --server https://node-1:10250 --token-file token', 'show an agent'],
    ['nodelet ui --kubeconfig ~/.kube/config --node node-1', 'show an agent through the API server'],
  ],
};

export function runUi(argv: readonly string[]): Promise<number> {
  return runCommand(uiSpec, argv, async ({ values, positionals }) => {
    if (positionals.length > 0) throw new UsageError(`ui takes no names: ${positionals.join(' ')}`);
    const target = await uiTarget(values);
    const port = portOf(values.port);
    if (!values.wait) await target.endpoint();
    const [{ startPageServer }, { Timeline }] = await Promise.all([
      import('../page/index.js'),
      import('../timeline/index.js'),
    ]);
    const timeline = new Timeline();
    timeline.subscribe(({ kind, message, error }) => {
      if (kind === 'problem') process.stderr.write(`nodelet ui: ${message}${error ? `: ${error}` : ''}\n`);
    });
    const server = await startPageServer({ target, port, timeline });
    const print = (): void => void process.stdout.write(`${server.newAddress()}\n`);
    process.stderr.write(`The page of ${target.name} is at this address, which lets one browser in, once:\n`);
    print();
    if (process.stdin.isTTY === true)
      process.stderr.write('Enter prints another address; Ctrl-C ends the page.\n');
    const lines = process.stdin.isTTY === true ? createInterface({ input: process.stdin }) : undefined;
    lines?.on('line', print);
    try {
      await new Promise<void>((resolve) => {
        process.once('SIGINT', () => resolve()).once('SIGTERM', () => resolve());
        // Readline takes Ctrl-C from a terminal.
        lines?.once('SIGINT', () => resolve());
      });
    } finally {
      lines?.close();
      await server.close();
    }
    return 0;
  });
}

function portOf(given: string | undefined): number {
  if (given === undefined) return 0;
  const port = /^\d{1,5}$/.test(given) ? Number(given) : -1;
  if (port >= 0 && port <= 65_535) return port;
  throw new UsageError(`--port ${given}: write a number from 1 to 65535, or 0 for any free one`);
}
