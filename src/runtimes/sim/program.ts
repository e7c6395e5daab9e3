/** What a command does in the simulation: the few shell words of test pods, as steps without a process. */

export type ProgramStep =
  | { readonly do: 'print'; readonly stream: 'stdout' | 'stderr'; readonly line: string }
  /** `interruptible`: a signal handler runs at once (`sleep 5 & wait`) instead of after the step. */
  | { readonly do: 'sleep'; readonly durationMs: number; readonly interruptible: boolean }
  /** Echoes input until it ends. */
  | { readonly do: 'copy-input' }
  | { readonly do: 'exit'; readonly code: number };

/** A program runs its steps in order and exits with 0 after the last one, unless a step exits before. */
export interface Program {
  readonly steps: readonly ProgramStep[];
  /** The reaction to SIGTERM; the signal does not reach a first process without a handler. */
  readonly onTerm: 'ignore' | readonly ProgramStep[];
}

/** A program that runs until SIGTERM, then exits with the code. */
export function untilTerminated(termExitCode = 143, stopDelayMs = 0): Program {
  return { steps: [forever], onTerm: termSteps(termExitCode, stopDelayMs) };
}

export function termSteps(exitCode: number, stopDelayMs: number): readonly ProgramStep[] {
  const exit: ProgramStep = { do: 'exit', code: exitCode };
  return stopDelayMs > 0 ? [{ do: 'sleep', durationMs: stopDelayMs, interruptible: false }, exit] : [exit];
}

export const forever: ProgramStep = {
  do: 'sleep',
  durationMs: Number.POSITIVE_INFINITY,
  interruptible: true,
};

/**
 * Parses `cat`, `echo`, `sleep`, `exit`, `true`, `false`, `:`, `wait`, `exec` and `trap … TERM`, alone or as
 * `sh -c "…"` with `;`, newlines, `&&`, `>&2` and `sleep N & wait`. Undefined: not understood.
 */
export function parseProgram(argv: readonly string[]): Program | undefined {
  const [program = '', flag = '', text] = argv;
  const name = program.slice(program.lastIndexOf('/') + 1);
  if (name === '') return undefined;
  if ((name === 'sh' || name === 'ash' || name === 'bash') && /^-[a-z]*c$/.test(flag)) {
    return text === undefined ? undefined : parseShell(text);
  }
  return parseCommands([{ words: [name, ...argv.slice(1)], background: false }]);
}

interface ShellCommand {
  readonly words: readonly string[];
  readonly background: boolean;
}

function parseShell(text: string): Program | undefined {
  const commands = splitCommands(text);
  return commands === undefined ? undefined : parseCommands(commands);
}

function parseCommands(commands: readonly ShellCommand[]): Program | undefined {
  const steps: ProgramStep[] = [];
  let onTerm: Program['onTerm'] = 'ignore';
  let code = 0;
  for (const [index, { words, background }] of commands.entries()) {
    const [name = '', ...args] = words[0] === 'exec' ? words.slice(1) : words;
    if (background && (name !== 'sleep' || commands[index + 1]?.words[0] !== 'wait')) return undefined;
    code = 0;
    switch (name) {
      case ':':
      case 'true':
      case 'wait':
        break;
      case 'false':
        code = 1;
        break;
      case 'echo': {
        const toStderr = args.at(-1) === '>&2' || args.at(-1) === '1>&2';
        const line = (toStderr ? args.slice(0, -1) : args).join(' ');
        if (line.includes('>')) return undefined;
        for (const part of line.split('\n'))
          steps.push({ do: 'print', stream: toStderr ? 'stderr' : 'stdout', line: part });
        break;
      }
      case 'cat':
        if (args.length > 0) return undefined;
        steps.push({ do: 'copy-input' });
        break;
      case 'sleep': {
        const durationMs = sleepMs(args[0]);
        if (durationMs === undefined || args.length !== 1) return undefined;
        steps.push({ do: 'sleep', durationMs, interruptible: background });
        break;
      }
      case 'exit':
        if (!/^\d{0,3}$/.test(args[0] ?? '')) return undefined;
        steps.push({ do: 'exit', code: Number(args[0] ?? 0) & 0xff });
        break;
      case 'trap': {
        const action = parseShell(args[0] ?? '');
        if (action === undefined) return undefined;
        if (args.slice(1).some((signal) => signal === 'TERM' || signal === 'SIGTERM' || signal === '15')) {
          onTerm = action.steps.some((step) => step.do === 'exit') ? action.steps : 'ignore';
        }
        break;
      }
      default:
        return undefined;
    }
  }
  if (code !== 0) steps.push({ do: 'exit', code });
  return { steps, onTerm };
}

function sleepMs(text: string | undefined): number | undefined {
  if (text === 'infinity' || text === 'inf') return Number.POSITIVE_INFINITY;
  const match = /^(\d+(?:\.\d+)?)([smhd]?)$/.exec(text ?? '');
  if (match === null) return undefined;
  const unitSeconds = { '': 1, s: 1, m: 60, h: 3600, d: 86_400 }[match[2] ?? ''];
  return unitSeconds === undefined ? undefined : Number(match[1]) * unitSeconds * 1000;
}

/** Splits shell text at `;`, newlines, `&&` and `&`; undefined when it uses more of the shell than that. */
function splitCommands(text: string): readonly ShellCommand[] | undefined {
  const commands: ShellCommand[] = [];
  let words: string[] = [];
  let word: string | undefined;
  const endWord = (): void => {
    if (word !== undefined) words.push(word);
    word = undefined;
  };
  const endCommand = (background: boolean): void => {
    endWord();
    if (words.length > 0) commands.push({ words, background });
    words = [];
  };
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at);
    if (char === "'" || char === '"') {
      const end = text.indexOf(char, at + 1);
      if (end < 0) return undefined;
      const quoted = text.slice(at + 1, end);
      if (char === '"' && /[$`\\]/.test(quoted)) return undefined;
      word = (word ?? '') + quoted;
      at = end;
    } else if (char === ';' || char === '\n') endCommand(false);
    else if (text.startsWith('&&', at)) {
      endCommand(false);
      at++;
    } else if (text.startsWith('>&2', at)) {
      if (word !== '1') endWord();
      words.push('>&2');
      word = undefined;
      at += 2;
    } else if (char === '&') endCommand(true);
    else if (char === ' ' || char === '\t') endWord();
    else if (char === '$' && text.startsWith('$!', at)) at++;
    else if ('$`\\|()<>{}*?!#'.includes(char)) return undefined;
    else word = (word ?? '') + char;
  }
  endCommand(false);
  return commands;
}
