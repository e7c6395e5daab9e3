/** Finds the programs that a TypeScript file starts by name, as far as its text tells, without a compiler. */
import { programsOfShell } from './shell-words.js';

export interface StartedProgram {
  readonly program: string;
  /** Counted from 1. */
  readonly line: number;
}

/** Our own functions whose first argument is a program's name. */
const runners = ['runCommand', 'runPacketCommand', 'CommandLine\\.of'];
const shellCommand = /\[\s*(?='(?:sh|bash)',)/g;
const startFunctions = 'spawn|spawnSync|execFile|execFileSync|exec|execSync';

/** `hasProcessPods`: commands of its pods run as processes of this machine, not in a container with programs of its own. */
export function readPrograms(source: string, hasProcessPods: boolean): StartedProgram[] {
  const names = [...runners, ...childProcessNames(source)].join('|');
  const call = new RegExp(`(?<![.\\w])(?:${names})\\(\\s*(?=['"\`])`, 'g');
  const found: StartedProgram[] = [];
  const add = (at: number, programs: readonly string[]): void => {
    const line = source.slice(0, at).split('\n').length;
    for (const program of programs) found.push({ program, line });
  };
  for (const { 0: text, index } of source.matchAll(call)) {
    const [first, end] = literalAt(source, index + text.length);
    if (first === undefined) continue;
    const list = /^\s*,\s*\[/.exec(source.slice(end, end + 200));
    const words = list === null ? [] : literalsOfList(source, end + list[0].length);
    add(index, /^exec(Sync)?\(/.test(text) ? programsOfShell(first) : programsOfCommand([first, ...words]));
  }
  for (const { 0: text, index } of hasProcessPods ? source.matchAll(shellCommand) : []) {
    add(index, programsOfCommand(literalsOfList(source, index + text.length)));
  }
  return found;
}

/** The names that this file has for what starts processes. */
function childProcessNames(source: string): string[] {
  const imported = [
    ...source.matchAll(/import\s*\{([^}]*)\}\s*from 'node:child_process'/g),
    ...source.matchAll(/const \{([^}]*)\} = await import\('node:child_process'\)/g),
  ].flatMap(([, names = '']) => names.split(','));
  const local = imported
    .map((name) => name.trim().replace(/^.*\sas\s/, ''))
    .filter((name) => name !== '' && !name.startsWith('type '));
  const promised = source.matchAll(new RegExp(`const (\\w+) = promisify\\((?:${startFunctions})\\)`, 'g'));
  return [...local, ...[...promised].flatMap(([, name]) => name ?? [])];
}

/** A word of a command, `undefined` where the text does not tell it. */
type Word = string | undefined;

/** Programs that start another one: the options of theirs that take a value, and the number of operands before it. */
const wrappers: Readonly<Record<string, { readonly valued: readonly string[]; readonly operands: number }>> =
  {
    chroot: { valued: [], operands: 1 },
    env: { valued: ['-C', '-u'], operands: 0 },
    flock: { valued: ['-w'], operands: 1 },
    nice: { valued: ['-n'], operands: 0 },
    nsenter: { valued: ['-t'], operands: 0 },
    setpriv: { valued: ['--pdeathsig', '--reuid', '--regid'], operands: 0 },
    timeout: { valued: ['-s', '-k'], operands: 1 },
    unshare: { valued: ['--propagation'], operands: 0 },
  };
const shells = ['sh', 'bash'];

/** The program and those that it is told to start. A program given by its path is a file of the test's, or the shell. */
export function programsOfCommand([first, ...words]: readonly Word[]): string[] {
  if (first === undefined) return [];
  const program = first.replace(/^\/(?:usr\/)?s?bin\//, '');
  if (program === '' || program.includes('/') || program.includes('${')) return [];
  const script = shells.includes(program) ? words[words.indexOf('-c') + 1] : undefined;
  if (script !== undefined && words.includes('-c')) return [program, ...programsOfShell(script)];
  if (program === 'script') return [program, ...programsOfShell(words[1] ?? '')];
  if (program === 'ip' && words[0] === 'netns' && words[1] === 'exec') {
    return [program, ...programsOfCommand(words.slice(3))];
  }
  const wrapper = wrappers[program];
  return wrapper === undefined ? [program] : [program, ...programsOfCommand(wrapped(words, wrapper))];
}

function wrapped(words: readonly Word[], { valued, operands }: (typeof wrappers)[string]): readonly Word[] {
  let at = 0;
  while (words[at]?.startsWith('-') === true || /^\w+=/.test(words[at] ?? '')) {
    at += valued.includes(words[at] ?? '') ? 2 : 1;
  }
  return words.slice(at + operands);
}

/** The literals of a list from behind its bracket on; what is no literal is unknown. */
function literalsOfList(source: string, from: number): Word[] {
  const words: Word[] = [];
  let at = from;
  let isElement = false;
  for (let depth = 0; at < source.length; ) {
    const char = source[at] ?? '';
    if (char === "'" || char === '"' || char === '`') {
      const [text, end] = literalAt(source, at);
      if (depth === 0) words.push(text);
      isElement = true;
      at = end;
      continue;
    }
    if (char === ']' && depth === 0) break;
    if ('([{'.includes(char)) depth++;
    if (')]}'.includes(char)) depth--;
    if (char === ',' && depth === 0) {
      if (!isElement) words.push(undefined);
      isElement = false;
    }
    at++;
  }
  return words;
}

/** The text of the literal that begins here, and where it ends. */
function literalAt(source: string, from: number): [text: string | undefined, end: number] {
  const quote = source[from] ?? '';
  if (!["'", '"', '`'].includes(quote)) return [undefined, from];
  let at = from + 1;
  while (at < source.length && source[at] !== quote) at += source[at] === '\\' ? 2 : 1;
  const text = source
    .slice(from + 1, at)
    .replace(/\\n/g, '\n')
    .replace(/\\(.)/g, '$1');
  return [text, at + 1];
}
