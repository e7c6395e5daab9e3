/** `nodelet what-if`: shows what eviction, garbage collection and the like would do now, and changes nothing. */
import { bool, nearestName, string } from '../flags/index.js';
import type { EvictionOutlook, GarbageOutlook, ShutdownOutlook } from '../kubelet/index.js';
import { agentConnection, agentFlags, requestAgent } from './client/agent-connection.js';
import { type CommandSpec, runCommand, runFlags } from './client/command.js';
import { connectTo, requestJson } from './client/connection.js';
import { UsageError } from './client/usage-error.js';
import { jsonText } from './print/objects.js';
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
  synopsis: ['evict [flags]', 'gc [flags]', 'shutdown [flags]'],
  notes: [
    'evict     under each signal: what the node frees first, and which pods go, in order',
    'gc        the dead containers, sandboxes and images that garbage collection removes or keeps',
    'shutdown  in which order and with what grace a shutdown of the machine ends pods',
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
    ['nodelet what-if gc -o json', 'print everything as JSON'],
  ],
};

const questions = ['evict', 'gc', 'shutdown'] as const;
type Question = (typeof questions)[number];
const shortList = 20;

export function runWhatIf(argv: readonly string[]): Promise<number> {
  return runCommand(whatIfSpec, argv, async ({ values, positionals }) => {
    const question = questionOf(positionals);
    if (values.output !== undefined && values.output !== 'json')
      throw new UsageError(`-o ${values.output}: the only format is json`);
    const agent = await agentConnection(values);
    const path = `/debug/what-if/${question}`;
    const answer: unknown =
      agent === undefined
        ? await requestJson(await connectTo(values), path)
        : JSON.parse(await requestAgent(agent, path));
    process.stdout.write(
      values.output === 'json'
        ? jsonText(answer)
        : textOf(question, answer, values.all ? Number.POSITIVE_INFINITY : shortList),
    );
    return 0;
  });
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
  }
}

function questionOf(positionals: readonly string[]): Question {
  const [given, ...rest] = positionals;
  const known = questions.find((question) => question === given);
  if (known === undefined) {
    if (given === undefined) throw new UsageError(`name what to foretell: ${questions.join(', ')}`);
    const near = nearestName(given, questions);
    throw new UsageError(
      `cannot foretell ${JSON.stringify(given)}${near === undefined ? '' : `; did you mean ${near}?`}`,
    );
  }
  if (rest.length > 0) throw new UsageError(`${known} takes no names: ${rest.join(' ')}`);
  return known;
}
