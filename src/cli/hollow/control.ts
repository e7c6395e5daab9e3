/** `nodelet hollow ps|add|remove|kill|cut|restore`: looks at a running fleet and changes it, by its socket. */
import { bool, type FlagSpecs, string } from '../../flags/index.js';
import type { HollowAnswer, HollowProcessReport } from '../../hollow/index.js';
import { commandHelp } from '../client/command.js';
import { isNotListening, type LocalRequestOptions, requestJson } from '../client/connection.js';
import { parseCommandFlags, wholeNumber } from '../client/flags.js';
import { CommandFailure, UsageError } from '../client/usage-error.js';
import { jsonText } from '../print/objects.js';
import { fieldsOfFlags, nameTemplateOf, profileOfFlags, readProfileFile } from './groups.js';
import type { HollowControlName } from './index.js';
import { hollowSpec, type ProfileFlagValues, profileFlags, socketFlag, socketPathOf } from './options.js';
import { reportText } from './report-text.js';

const psFlags = {
  output: {
    type: string,
    shorthand: 'o',
    valueName: 'FORMAT',
    choices: ['json'],
    about: 'output format: json',
  },
  all: { type: bool, about: 'show every node, not only those that are not ready' },
  ...socketFlag,
} as const satisfies FlagSpecs;

const addFlags = {
  nodes: { type: string, valueName: 'N', about: 'how many nodes join (default 1)' },
  ...profileFlags,
  ...socketFlag,
} as const satisfies FlagSpecs;

const actFlags = {
  count: { type: string, valueName: 'N', about: 'so many of the nodes that this is for' },
  all: { type: bool, about: 'all nodes that this is for' },
  ...socketFlag,
} as const satisfies FlagSpecs;

const removeFlags = {
  ...actFlags,
  'keep-nodes': { type: bool, about: 'leave the Node objects in the cluster' },
} as const satisfies FlagSpecs;

export async function runHollowControl(name: HollowControlName, argv: readonly string[]): Promise<number> {
  switch (name) {
    case 'ps':
      return ps(argv);
    case 'add':
      return add(argv);
    case 'remove': {
      const { values, positionals } = parseCommandFlags(argv, removeFlags);
      return act(name, values, positionals, values['keep-nodes']);
    }
    case 'kill':
    case 'cut':
    case 'restore': {
      const { values, positionals } = parseCommandFlags(argv, actFlags);
      return act(name, values, positionals, false);
    }
  }
}

async function ps(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseCommandFlags(argv, psFlags);
  if (values.help) return help();
  if (positionals[0] !== undefined) throw new UsageError(`ps takes no names: ${positionals.join(' ')}`);
  if (values.output !== undefined && values.output !== 'json')
    throw new UsageError(`-o ${values.output}: the only format is json`);
  const report = await ask<HollowProcessReport>(values.socket, '/hollow');
  process.stdout.write(values.output === 'json' ? jsonText(report) : reportText(report, values.all));
  return 0;
}

async function add(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseCommandFlags(argv, addFlags);
  if (values.help) return help();
  if (positionals[0] !== undefined)
    throw new UsageError(`add takes no names: ${positionals.join(' ')}; use --name-prefix`);
  const body = await groupsText(values, wholeNumber('--nodes', values.nodes, 1));
  const { outcomes } = await ask<HollowAnswer>(values.socket, '/hollow/add', { method: 'POST', body });
  const [first, last] = [outcomes[0]?.name, outcomes.at(-1)?.name];
  process.stdout.write(
    outcomes.length === 1 ? `${first} joins\n` : `${outcomes.length} nodes join: ${first} to ${last}\n`,
  );
  return 0;
}

/** The fleet's process reads what a file of profiles would say, and checks it. */
async function groupsText(values: ProfileFlagValues, count: number | undefined): Promise<string> {
  if (values.profiles !== undefined) {
    const others = [...Object.keys(fieldsOfFlags(values)), ...(count === undefined ? [] : ['nodes'])];
    if (others.length > 0)
      throw new UsageError('--profiles says what the nodes are: leave the other flags out');
    return readProfileFile(values.profiles);
  }
  profileOfFlags(values);
  const isNamed = values['name-prefix'] !== undefined || values['node-name-template'] !== undefined;
  const name = nameTemplateOf(values);
  const group = { count: count ?? 1, ...(isNamed ? { name } : {}), ...fieldsOfFlags(values) };
  return JSON.stringify({ nodes: [group] });
}

async function act(
  name: 'remove' | 'kill' | 'cut' | 'restore',
  values: { readonly count: string | undefined; readonly all: boolean; readonly help: boolean } & {
    readonly socket: string | undefined;
  },
  names: readonly string[],
  keepsNodes: boolean,
): Promise<number> {
  if (values.help) return help();
  const count = wholeNumber('--count', values.count, 1);
  if ([names.length > 0, count !== undefined, values.all].filter(Boolean).length !== 1)
    throw new UsageError(`name nodes to ${name}, or write --count N or --all`);
  const body = JSON.stringify({ names, count, all: values.all, keepsNodes });
  const { outcomes } = await ask<HollowAnswer>(values.socket, `/hollow/${name}`, { method: 'POST', body });
  const failed = outcomes.filter(({ problem }) => problem !== undefined);
  for (const { name: node, problem } of failed)
    process.stderr.write(`nodelet hollow ${name}: ${node}: ${problem}\n`);
  const done = outcomes.filter(({ problem }) => problem === undefined).map(({ name: node }) => node);
  process.stdout.write(done.map((node) => `${node}\n`).join(''));
  return failed.length > 0 ? 1 : 0;
}

function help(): number {
  process.stdout.write(commandHelp(hollowSpec));
  return 0;
}

async function ask<T>(socket: string | undefined, path: string, options?: LocalRequestOptions): Promise<T> {
  const socketPath = socketPathOf(socket);
  try {
    return await requestJson<T>({ socketPath }, path, options);
  } catch (error) {
    if (!isNotListening(error)) throw error;
    throw new CommandFailure(
      `no hollow nodes run at ${socketPath}: start some with nodelet hollow --nodes N`,
      {
        cause: error,
      },
    );
  }
}
