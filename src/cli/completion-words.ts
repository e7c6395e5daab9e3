/** Finds the words that fit at the cursor of a command line, for shell completion. */
import { type CursorWord, cursorWord } from '../flags/index.js';
import type { CommandSpec } from './client/command.js';

export interface CompletionContext {
  readonly commands: readonly string[];
  /** The description of a command; undefined when it has no flags. */
  readonly specOf: (command: string) => CommandSpec | undefined;
  readonly pods: () => Promise<readonly string[]>;
  readonly containersOf: (pod: string) => Promise<readonly string[]>;
  readonly runs: () => Promise<readonly string[]>;
}

const podCommands = new Set(['get', 'logs', 'exec', 'port-forward', 'stop', 'explain']);

/** `words` follow `nodelet`; the last one, which may be empty, is at the cursor. An empty result means file names. */
export async function completions(words: readonly string[], context: CompletionContext): Promise<string[]> {
  const [command = '', ...args] = words;
  const current = words.at(-1) ?? '';
  if (words.length <= 1) return matching(context.commands, current);
  if (command === 'completion') return matching(['bash', 'zsh', 'fish'], current);
  if (command === 'help') return matching(context.commands, current);
  if (command === 'cri' && words.length === 2) return matching(['serve'], current);
  const spec = context.specOf(command);
  if (spec === undefined) return [];
  return matching(await candidates(command, cursorWord(args, spec.flags), context), current);
}

async function candidates(
  command: string,
  word: CursorWord,
  context: CompletionContext,
): Promise<readonly string[]> {
  switch (word.kind) {
    case 'flag':
      return word.names;
    case 'value':
      return flagValues(word, context);
    case 'positional':
      return positionalWords(command, word.positionals, context);
    case 'rest':
      // These words belong to the command in the container.
      return [];
  }
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
  { name, spec, positionals }: Extract<CursorWord, { kind: 'value' }>,
  { containersOf, runs }: CompletionContext,
): Promise<readonly string[]> {
  switch (name) {
    case 'run':
      return runs();
    case 'container': {
      const [pod] = positionals;
      return pod === undefined ? [] : containersOf(pod);
    }
    default:
      return spec.choices ?? [];
  }
}

function matching(candidates: readonly string[], start: string): string[] {
  return candidates.filter((candidate) => candidate.startsWith(start));
}
