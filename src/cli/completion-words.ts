/** What may stand at the cursor of a command line, for the completion of shells. */
import type { CommandSpec } from './client/command.js';
import type { FlagSpec } from './client/flags.js';
import { outputFormats } from './print/objects.js';

export interface CompletionContext {
  readonly commands: readonly string[];
  /** The description of a command, if it has flags that are known here. */
  readonly specOf: (command: string) => CommandSpec | undefined;
  readonly pods: () => Promise<readonly string[]>;
  readonly containersOf: (pod: string) => Promise<readonly string[]>;
  readonly runs: () => Promise<readonly string[]>;
}

const podCommands = new Set(['get', 'logs', 'exec', 'port-forward', 'stop', 'explain']);

/** `words` are those behind `nodelet`, the last one, maybe empty, is the one at the cursor. Empty: names of files. */
export async function completions(words: readonly string[], context: CompletionContext): Promise<string[]> {
  const [command = '', ...args] = words;
  const current = words.at(-1) ?? '';
  if (words.length <= 1) return matching(context.commands, current);
  if (command === 'completion') return matching(['bash', 'zsh', 'fish'], current);
  if (command === 'help') return matching(context.commands, current);
  if (command === 'cri' && words.length === 2) return matching(['serve'], current);
  const spec = context.specOf(command);
  if (spec === undefined) return [];
  const before = args.slice(0, -1);
  // What stands behind -- belongs to the command in the container.
  if (before.includes('--')) return [];
  const flag = flagTakingValue(spec, before.at(-1));
  if (flag !== undefined) return matching(await flagValues(flag, command, before, spec, context), current);
  if (current.startsWith('-')) {
    return matching(
      Object.keys(spec.flags).map((name) => `--${name}`),
      current,
    );
  }
  const named = positionals(before, spec);
  return matching(await positionalWords(command, named, context), current);
}

async function positionalWords(
  command: string,
  named: readonly string[],
  { pods, containersOf }: CompletionContext,
): Promise<readonly string[]> {
  if (!podCommands.has(command)) return [];
  const [first] = named;
  if (command === 'get') return first === undefined ? ['pods', 'pod'] : pods();
  if (command === 'stop' || first === undefined) return pods();
  return command === 'logs' && named.length === 1 ? containersOf(first) : [];
}

async function flagValues(
  flag: string,
  command: string,
  before: readonly string[],
  spec: CommandSpec,
  { containersOf, runs }: CompletionContext,
): Promise<readonly string[]> {
  switch (flag) {
    case 'output':
      return command === 'get' ? outputFormats : ['json'];
    case 'run':
      return runs();
    case 'container': {
      const [pod] = positionals(before, spec);
      return pod === undefined ? [] : containersOf(pod);
    }
    default:
      return spec.flags[flag]?.values ?? [];
  }
}

/** The flag that the word at the cursor is the value of. */
function flagTakingValue(spec: CommandSpec, word: string | undefined): string | undefined {
  const found = word === undefined ? undefined : findFlag(spec, word);
  return found !== undefined && found[1].type !== 'boolean' ? found[0] : undefined;
}

function findFlag(spec: CommandSpec, word: string): [string, FlagSpec] | undefined {
  return Object.entries(spec.flags).find(
    ([name, { short, alias }]) =>
      word === `--${name}` ||
      (alias !== undefined && word === `--${alias}`) ||
      (short !== undefined && /^-[a-zA-Z]+$/.test(word) && word.endsWith(short)),
  );
}

function positionals(words: readonly string[], spec: CommandSpec): string[] {
  return words.filter(
    (word, at) => !word.startsWith('-') && flagTakingValue(spec, words[at - 1]) === undefined,
  );
}

function matching(candidates: readonly string[], start: string): string[] {
  return candidates.filter((candidate) => candidate.startsWith(start));
}
