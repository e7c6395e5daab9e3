/** A program and its arguments, where each argument's role is said: no value of somebody else's can become an option. */
import { BadProgramWord, type CheckedWord, wordProblem } from './checked-word.js';

/**
 * The programs of the machine that nodelet starts by name, and how each tells operands from options: whatever stands after
 * `--` is an operand, or it has no such mark and takes checked words only.
 */
const operandMarks = {
  blkid: '--',
  containerd: 'none',
  ctr: '--',
  // Takes what stands after `--` as options for the checker of the file system.
  fsck: 'none',
  ip: 'none',
  ip6tables: 'none',
  iptables: 'none',
  'iptables-restore': 'none',
  'iptables-save': 'none',
  journalctl: '--',
  ldd: '--',
  mount: '--',
  ps: 'none',
  script: '--',
  stty: 'none',
  sysctl: 'none',
  'systemd-notify': '--',
  tar: '--',
  umount: '--',
  unshare: '--',
} as const satisfies Record<string, '--' | 'none'>;

export type ProgramName = keyof typeof operandMarks;
type Operand<Mark> = Mark extends '--' ? string : CheckedWord;

/** Refuses what is not spelled out in the source, such as `--unit=${service}`: any text would match its type. */
type Literal<Text extends string> = Record<never, never> extends Record<Text, 1> ? never : Text;

export class CommandLine<Mark extends '--' | 'none' | 'given' = '--' | 'none' | 'given'> {
  /** A name that is looked up on the PATH, or an absolute path. */
  readonly program: string;
  readonly words: readonly string[];
  readonly #mark: Mark;

  private constructor(program: string, words: readonly string[], mark: Mark) {
    for (const [index, word] of [program, ...words].entries()) {
      const problem = wordProblem(word);
      if (problem !== undefined) throw new BadProgramWord(`argument ${index} of ${program}`, word, problem);
    }
    this.program = program;
    this.words = words;
    this.#mark = mark;
  }

  static of<Name extends ProgramName>(name: Name): CommandLine<(typeof operandMarks)[Name]> {
    return new CommandLine(name, [], operandMarks[name]);
  }

  /** A program of a checked name that knows `--`. */
  static named(name: CheckedWord<'program name'>): CommandLine<'--'> {
    return new CommandLine(name, [], '--');
  }

  /** A program and arguments that somebody has the right to choose: the administrator's plugin, a container's own command. */
  static given(program: string, words: readonly string[]): CommandLine<'given'> {
    return new CommandLine(program, words, 'given');
  }

  /** Options, subcommands and keywords that are written in the source. */
  literal<const Words extends readonly string[]>(
    ...words: { readonly [Index in keyof Words]: Literal<Words[Index]> }
  ): CommandLine<Mark> {
    return this.#with(...words);
  }

  /** `--name=value`: joined, so that the value is one whatever it begins with. */
  option<const Name extends `--${string}`>(name: Literal<Name>, value: string | number): CommandLine<Mark> {
    return this.#with(`${name}=${value}`);
  }

  /** An option or keyword whose value is the next word: for short options, and for programs that know no joined ones. */
  optionWord<const Name extends string>(name: Literal<Name>, value: CheckedWord | number): CommandLine<Mark> {
    if (typeof value === 'number' && !(Number.isSafeInteger(value) && value >= 0))
      throw new BadProgramWord(`${name} of ${this.program}`, String(value), 'must be a whole number');
    return this.#with(name, String(value));
  }

  /** What the program works on. Nothing can follow. */
  operands(...values: readonly Operand<Mark>[]): CommandLine<'given'> {
    const words: readonly string[] = values;
    return new CommandLine(
      this.program,
      [...this.words, ...(this.#mark === '--' ? ['--'] : []), ...words],
      'given',
    );
  }

  /** As a person would read it; not to be given to a shell. */
  toString(): string {
    return [this.program, ...this.words]
      .map((word) => (/[\s"]|^$/.test(word) ? JSON.stringify(word) : word))
      .join(' ');
  }

  #with(...words: readonly string[]): CommandLine<Mark> {
    return new CommandLine(this.program, [...this.words, ...words], this.#mark);
  }
}
