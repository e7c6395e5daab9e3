/** `nodelet what-if`: shows what eviction, garbage collection and the like would do now, and changes nothing. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { errorText } from '../async/index.js';
import { bool, nearestName, string } from '../flags/index.js';
import type { ConfigOutlook, EvictionOutlook, GarbageOutlook, ShutdownOutlook } from '../kubelet/index.js';
import { agentConnection, agentFlags, requestAgent } from './client/agent-connection.js';
import { type CommandSpec, runCommand, runFlags } from './client/command.js';
import { connectTo, requestJson } from './client/connection.js';
import { CommandFailure, UsageError } from './client/usage-error.js';
import { jsonText } from './print/objects.js';
import { configText } from './print/what-if-config-text.js';
import { evictionText, garbageText, shutdownText } from './print/what-if-text.js';

const flags = {
  output: {
    type: string,
    shorthand: 'o',
    valueName: 'FORMAT',
    choices: ['json'],
    about: 'output format: json',
  },
  all: { type: bool, about: 'show whole lists instead of their first 20 lines' },
  ...agentFlags,
  ...runFlags,
} as const;

export const whatIfSpec: CommandSpec<typeof flags> = {
  name: 'what-if',
  about:
    'Shows what would happen to pods, containers and images now, in which order and why. Changes nothing.',
  synopsis: ['evict [flags]', 'gc [flags]', 'shutdown [flags]', 'config FILE [flags]'],
  notes: [
    'evict     under each signal: what the node frees first, and which pods go, in order',
    'gc        the dead containers, sandboxes and images that garbage collection removes or keeps',
    'shutdown  in which order and with what grace a shutdown of the machine ends pods',
    'config    what FILE would change as the configuration file of an agent, and what it would do at once;',
    '          relative paths in it count from its own directory, and the exit code is 1 if it cannot be used',
    '',
    'The answer comes from a run, or with --server from an agent, whose authorization asks for nodes/proxy.',
  ].join('\n'),
  flags,
  examples: [
    ['nodelet what-if gc', 'see what garbage collection would remove of a run'],
    [
      'nodelet what-if evict --server https://node-1:10250 --token-file token',
      'see which pods of an agent would be evicted',
    ],
    [
      'nodelet what-if config new.yaml --server https://node-1:10250 --token-file token',
      'see what a new configuration file would change and do',
    ],
    ['nodelet what-if gc -o json', 'print everything as JSON'],
  ],
};

const questions = ['evict', 'gc', 'shutdown', 'config'] as const;
type Question = (typeof questions)[number];
const shortList = 20;

export function runWhatIf(argv: readonly string[]): Promise<number> {
  return runCommand(whatIfSpec, argv, async ({ values, positionals }) => {
    const { question, file } = questionOf(positionals);
    if (values.output !== undefined && values.output !== 'json')
      throw new UsageError(`-o ${values.output}: the only format is json`);
    const agent = await agentConnection(values);
    const query = file === undefined ? '' : `?file=${encodeURIComponent(path.resolve(file))}`;
    const wanted = `/debug/what-if/${question}${query}`;
    const body = file === undefined ? undefined : await readConfigFile(file);
    const answer: unknown =
      agent === undefined
        ? await requestJson(
            await connectTo(values),
            wanted,
            body === undefined ? {} : { method: 'POST', body },
          )
        : JSON.parse(await requestAgent(agent, wanted, body));
    process.stdout.write(
      values.output === 'json'
        ? jsonText(answer)
        : textOf(question, answer, values.all ? Number.POSITIVE_INFINITY : shortList),
    );
    return question === 'config' && (answer as ConfigOutlook).kind === 'refused' ? 1 : 0;
  });
}

async function readConfigFile(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new CommandFailure(`cannot read ${file}: ${errorText(error)}`, { cause: error });
  }
}

/** The server is the same program: its answers have the types of the question. */
function textOf(question: Question, answer: unknown, most: number): string {
  switch (question) {
    case 'evict':
      return evictionText(answer as EvictionOutlook, most);
    case 'gc':
      return garbageText(answer as GarbageOutlook, most);
    case 'shutdown':
      return shutdownText(answer as ShutdownOutlook, most);
    case 'config':
      return configText(answer as ConfigOutlook, most);
  }
}

function questionOf(positionals: readonly string[]): {
  readonly question: Question;
  readonly file: string | undefined;
} {
  const [given, ...rest] = positionals;
  const known = questions.find((question) => question === given);
  if (known === undefined) {
    if (given === undefined) throw new UsageError(`name what to foretell: ${questions.join(', ')}`);
    const near = nearestName(given, questions);
    throw new UsageError(
      `cannot foretell ${JSON.stringify(given)}${near === undefined ? '' : `; did you mean ${near}?`}`,
    );
  }
  const [file, ...surplus] = rest;
  if (known === 'config' ? file === undefined || surplus.length > 0 : file !== undefined)
    throw new UsageError(
      known === 'config'
        ? 'name one file: what-if config FILE'
        : `${known} takes no names: ${rest.join(' ')}`,
    );
  return { question: known, file };
}
