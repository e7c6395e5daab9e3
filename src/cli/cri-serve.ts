/** `nodelet cri serve`: serves a built-in runtime on a CRI socket, for crictl, critest and other agents. */

import { chmod, mkdir } from 'node:fs/promises';
import path from 'node:path';
import { ignoreOutputErrors } from '../agent/index.js';
import { errorText, systemClock } from '../async/index.js';
import { type CriRuntime, serveCri, socketPathOfEndpoint } from '../cri/index.js';
import { bool, string } from '../flags/index.js';
import { type CommandSpec, commandHelp } from './client/command.js';
import { parseCommandFlags } from './client/flags.js';
import { UsageError } from './client/usage-error.js';
import { catchStopRequests } from './run/run-signals.js';
import { stateDirectories } from './run/state.js';

const flags = {
  runtime: {
    type: string,
    valueName: 'NAME',
    choices: ['process', 'sim'],
    about: 'process: containers are processes of this machine; sim: containers are simulated in memory',
  },
  listen: {
    type: string,
    valueName: 'ENDPOINT',
    about: 'the socket, as in unix:///run/nodelet/cri.sock (default: cri.sock in the directory of runs)',
  },
  'root-dir': {
    type: string,
    valueName: 'DIR',
    about: 'the directory where the process runtime keeps its containers',
  },
  help: { type: bool, shorthand: 'h', about: 'show this help' },
} as const;

export const criServeSpec: CommandSpec<typeof flags> = {
  name: 'cri serve',
  about: 'Serves a built-in container runtime on a CRI socket until Ctrl-C.',
  synopsis: ['--runtime process|sim [flags]'],
  notes:
    'Only the user who starts the command can open the socket. Containers of the process runtime keep running when it\n' +
    'ends; the next one with the same --root-dir finds them again. They run with the rights of that user and without\n' +
    'isolation: a test suite that breaks containers on purpose, such as critest, breaks this machine.',
  flags,
  examples: [
    ['nodelet cri serve --runtime process', 'serve a runtime that needs nothing but this machine'],
    ['nodelet cri serve --runtime sim --listen unix:///tmp/sim.sock', 'serve a simulated runtime'],
    ['crictl --runtime-endpoint unix:///tmp/sim.sock pods', 'list its pods with crictl'],
  ],
};

interface ServedRuntime {
  readonly cri: CriRuntime;
  close(): Promise<void>;
}

/** Runs `nodelet cri …` and returns the exit code. */
export async function runCri(argv: readonly string[]): Promise<number> {
  const [verb, ...rest] = argv;
  try {
    if (verb === undefined || verb === '--help' || verb === '-h') {
      process.stdout.write(commandHelp(criServeSpec));
      return 0;
    }
    if (verb !== 'serve')
      throw new UsageError(`unknown command ${JSON.stringify(verb)}; the only command is "serve"`);
    const { values, positionals } = parseCommandFlags(rest, flags);
    if (values.help) {
      process.stdout.write(commandHelp(criServeSpec));
      return 0;
    }
    if (positionals[0] !== undefined)
      throw new UsageError(`${JSON.stringify(positionals[0])} is one argument too many`);
    return await serve(values);
  } catch (error) {
    process.stderr.write(`nodelet cri: ${errorText(error)}\n`);
    if (!(error instanceof UsageError)) return 1;
    process.stderr.write(`Run 'nodelet cri serve --help' for usage.\n`);
    return 2;
  }
}

interface CriServeOptions {
  readonly runtime: string | undefined;
  readonly listen: string | undefined;
  readonly 'root-dir': string | undefined;
}

async function serve({ runtime: name, listen, 'root-dir': rootDir }: CriServeOptions): Promise<number> {
  ignoreOutputErrors();
  const directories = stateDirectories();
  const socketPath =
    listen === undefined ? path.join(directories.runtimeDir, 'cri.sock') : socketPathOf(listen);
  const runtime = await openRuntime(name, rootDir ?? path.join(directories.dataDir, '..', 'cri'));
  const requests = catchStopRequests(systemClock);
  try {
    const server = await servePrivately(runtime.cri, socketPath);
    try {
      process.stdout.write(
        `serving the ${name} runtime at ${server.endpoint}; try: crictl --runtime-endpoint ${server.endpoint} ` +
          `--image-endpoint ${server.endpoint} info\n`,
      );
      await requests.stop;
    } finally {
      await server.close();
    }
  } finally {
    requests.release();
    await runtime.close();
  }
  return 0;
}

function socketPathOf(listen: string): string {
  try {
    return socketPathOfEndpoint(listen);
  } catch (error) {
    throw new UsageError(`--listen: ${errorText(error)}`);
  }
}

/** Creates the socket with mode 0600 from the start, so that only its user can open it. */
export async function servePrivately(
  cri: CriRuntime,
  socketPath: string,
): Promise<Awaited<ReturnType<typeof serveCri>>> {
  await mkdir(path.dirname(socketPath), { recursive: true, mode: 0o700 });
  const before = process.umask(0o177);
  try {
    const server = await serveCri(cri, { socketPath });
    await chmod(socketPath, 0o600);
    return server;
  } finally {
    process.umask(before);
  }
}

async function openRuntime(name: string | undefined, rootDir: string): Promise<ServedRuntime> {
  switch (name) {
    case 'process': {
      const { ProcessRuntime } = await import('../runtimes/process/index.js');
      const runtime = await ProcessRuntime.open({
        stateDir: path.resolve(rootDir),
        onProblem: (message, error) => process.stderr.write(`${message}: ${errorText(error)}\n`),
      });
      return { cri: runtime, close: () => runtime.close() };
    }
    case 'sim': {
      const { SimRuntime } = await import('../runtimes/sim/index.js');
      // Clients of the socket read log files at the paths that they requested.
      const runtime = new SimRuntime({ logRoot: '/' });
      return { cri: runtime, close: () => runtime.close() };
    }
    case undefined:
      throw new UsageError('name a runtime: --runtime process or --runtime sim');
    default:
      throw new UsageError(`--runtime ${name}: the runtimes are process and sim`);
  }
}
