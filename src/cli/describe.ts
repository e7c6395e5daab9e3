/** `nodelet describe node`: what the node has, what is reserved, who was given what, and what is free. */
import { bool, string } from '../flags/index.js';
import type { NodeDescription } from '../kubelet/index.js';
import { agentConnection, agentFlags, requestAgent } from './client/agent-connection.js';
import { type CommandSpec, runCommand, runFlags } from './client/command.js';
import { connectTo, requestJson } from './client/connection.js';
import { UsageError } from './client/usage-error.js';
import { nodeText } from './print/node-text.js';
import { jsonText, yamlText } from './print/objects.js';

const formats = ['json', 'yaml'] as const;

const flags = {
  output: {
    type: string,
    shorthand: 'o',
    valueName: 'FORMAT',
    choices: formats,
    about: 'output format: json or yaml',
  },
  all: { type: bool, about: 'show whole lists instead of their first 20 lines' },
  ...agentFlags,
  ...runFlags,
} as const;

export const describeSpec: CommandSpec<typeof flags> = {
  name: 'describe',
  about: 'Shows what the node has, what is reserved, what each pod was given, and what is free.',
  synopsis: ['node [flags]'],
  notes: [
    'Also shows the conditions of the node, the signals that eviction watches, and which containers have CPUs, memory or',
    'devices for themselves.',
    '',
    'The answer comes from a run, or with --server from an agent, whose authorization asks for nodes/proxy.',
  ].join('\n'),
  flags,
  examples: [
    ['nodelet describe node', 'see what is left of this machine for the pods of a run'],
    ['nodelet describe node --server https://node-1:10250 --token-file token', 'see the same of an agent'],
    ['nodelet describe node -o json', 'print everything as JSON, with exact amounts'],
  ],
};

const nodeWords = new Set(['node', 'nodes', 'no']);
const shortList = 20;

export function runDescribe(argv: readonly string[]): Promise<number> {
  return runCommand(describeSpec, argv, async ({ values, positionals }) => {
    const [kind, ...names] = positionals;
    if (kind === undefined || !nodeWords.has(kind))
      throw new UsageError(
        kind === undefined
          ? 'name what to describe: nodelet describe node'
          : `only the node can be described, not ${kind}; "nodelet explain POD" tells of a pod`,
      );
    if (names.length > 0) throw new UsageError(`there is one node, so name none: ${names.join(' ')}`);
    const format = formats.find((known) => known === values.output);
    if (values.output !== undefined && format === undefined)
      throw new UsageError(`-o ${values.output}: the formats are json and yaml`);
    const agent = await agentConnection(values);
    const path = '/debug/describe/node';
    const description =
      agent === undefined
        ? await requestJson<NodeDescription>(await connectTo(values), path)
        : // The server is the same program: its answer has the type of the question.
          (JSON.parse(await requestAgent(agent, path)) as NodeDescription);
    const most = values.all ? Number.POSITIVE_INFINITY : shortList;
    process.stdout.write(
      format === 'json'
        ? jsonText(description)
        : format === 'yaml'
          ? await yamlText(description)
          : nodeText(description, { most, nowMs: Date.now() }),
    );
    return 0;
  });
}
