/** A program and its arguments. Each argument has a role, so no foreign value can become an option. */
import { BadProgramWord, type CheckedWord, wordProblem } from './checked-word.js';

/**
 * The system programs that nodelet starts by name, and how each tells operands from options: everything after
 * `--` is an operand, or the program has no such mark and takes checked words only.
 */
const operandMarks = {
  blkid: '--',
  btrfs: 'none',
  chcon: '--',
  containerd: 'none',
  ctr: '--',
  // Its one operand is the number of a descriptor.
  flock: 'none',
  // Passes everything after `--` as options to the file-system checker.
  fsck: 'none',
  getsubids: 'none',
  ip: 'none',
  ip6tables: 'none',
  iptables: 'none',
  'iptables-restore': 'none',
  'iptables-save': 'none',
  // Treats operands as mistakes; all of its values belong to options.
  iscsiadm: 'none',
  journalctl: '--',
  ldd: '--',
  losetup: '--',
  mount: '--',
  multipath: 'none',
  multipathd: 'none',
  // Has a program to start as operands, and options for everything else.
  prlimit: 'none',
  ps: 'none',
  resize2fs: 'none',
  script: '--',
  stty: 'none',
  sysctl: 'none',
  'systemd-inhibit': '--',
  'systemd-notify': '--',
  tar: '--',
  umount: '--',
  unshare: '--',
  xfs_growfs: 'none',
} as const satisfies Record<string, '--' | 'none'>;

export type ProgramName = keyof typeof operandMarks;
type Operand<Mark> = Mark extends '--' ? string : CheckedWord;

/** Rejects text not spelled out in the source, such as `--unit=${service}`: any string would match its type. */
type Literal<Text extends string> = Record<never, never> extends Record<Text, 1> ? never : Text;

export class CommandLine<Mark extends '--' | 'none' | 'given' = '--' | 'none' | 'given'> {
  /** A name to look up on the PATH, or an absolute path. */
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

  /** A program with a checked name that understands `--`. */
  static named(name: CheckedWord<'program name'>): CommandLine<'--'> {
    return new CommandLine(name, [], '--');
  }

  /** A program and arguments chosen by someone entitled to: the administrator's plugin, a container's command. */
  static given(program: string, words: readonly string[]): CommandLine<'given'> {
    return new CommandLine(program, words, 'given');
  }

  /** Options, subcommands and keywords written in the source. */
  literal<const Words extends readonly string[]>(
    ...words: { readonly [Index in keyof Words]: Literal<Words[Index]> }
  ): CommandLine<Mark> {
    return this.#with(...words);
  }

  /** `--name=value`: joined, so the value stays a value whatever it begins with. */
  option<const Name extends `--${string}`>(name: Literal<Name>, value: string | number): CommandLine<Mark> {
    return this.#with(`${name}=${value}`);
  }

  /** An option or keyword whose value is the next word: for short options, and for programs without joined ones. */
  optionWord<const Name extends string>(name: Literal<Name>, value: CheckedWord | number): CommandLine<Mark> {
    if (typeof value === 'number' && !(Number.isSafeInteger(value) && value >= 0))
      throw new BadProgramWord(`${name} of ${this.program}`, String(value), 'must be a whole number');
    return this.#with(name, String(value));
  }

  /** The operands. Nothing may follow. */
  operands(...values: readonly Operand<Mark>[]): CommandLine<'given'> {
    const words: readonly string[] = values;
    return new CommandLine(
      this.program,
      [...this.words, ...(this.#mark === '--' ? ['--'] : []), ...words],
      'given',
    );
  }

  /** For people to read; not safe for a shell. */
  toString(): string {
    return [this.program, ...this.words]
      .map((word) => (/[\s"]|^$/.test(word) ? JSON.stringify(word) : word))
      .join(' ');
  }

  #with(...words: readonly string[]): CommandLine<Mark> {
    return new CommandLine(this.program, [...this.words, ...words], this.#mark);
  }
}
