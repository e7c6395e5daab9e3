/** What each followed file said when it was last without errors, and what is told of the errors of now. */
import { formatProblem, type Problem } from '../../kube/index.js';
import type { FilesReading } from './followed-files.js';

export interface FileParse<T> {
  readonly content: T;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
}

export interface HeldFile<T> {
  readonly file: string;
  /** What counts. */
  readonly content: T;
  /** What is wrong with the file as it is now. */
  readonly problems: readonly Problem[];
}

/** What people are told of a change of the files, a line each. */
export interface ManifestNews {
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
  readonly notes: readonly string[];
}

export interface HeldFilesOptions<T> {
  readonly parse: (text: string, file: string) => FileParse<T>;
  /** Whether a file with this content gives nothing. */
  readonly isEmpty: (content: T) => boolean;
}

export class HeldFiles<T> {
  readonly #options: HeldFilesOptions<T>;
  readonly #files = new Map<string, HeldFile<T>>();
  #unread: readonly Problem[] = [];
  #warnings: readonly string[] = [];
  /** By file: what was told of it. */
  #told: ReadonlyMap<string, ReadonlySet<string>> = new Map();

  constructor(options: HeldFilesOptions<T>) {
    this.#options = options;
  }

  /** In the order of the reading. */
  get files(): readonly HeldFile<T>[] {
    return [...this.#files.values()];
  }

  /** Of inputs and files that cannot be read now. */
  get unread(): readonly Problem[] {
    return this.#unread;
  }

  take({ files, changed, problems }: FilesReading): void {
    const before = new Map(this.#files);
    this.#files.clear();
    const warnings: string[] = [];
    for (const file of files) {
      const known = before.get(file);
      const text = changed.get(file);
      const held = text === undefined ? known : this.#parse(file, text, known, warnings);
      if (held !== undefined) this.#files.set(file, held);
    }
    this.#warnings = warnings;
    this.#unread = [...problems].map(([file, message]) => ({ file, line: 0, column: 0, field: '', message }));
  }

  /** A file with errors changes nothing of what it gave before: the part that is wrong could be most of it. */
  #parse(file: string, text: string, known: HeldFile<T> | undefined, warnings: string[]): HeldFile<T> {
    const { content, problems, warnings: ignored } = this.#options.parse(text, file);
    warnings.push(...ignored.map(formatProblem));
    const isKept = problems.length > 0 && known !== undefined && !this.#options.isEmpty(known.content);
    return { file, content: isKept ? known.content : content, problems };
  }

  /** Of all problems, what was not told before; and which files are without any again. */
  tell(problems: readonly Problem[]): ManifestNews {
    const now = new Map<string, Set<string>>();
    for (const problem of problems) {
      const lines = now.get(problem.file) ?? new Set();
      now.set(problem.file, lines.add(formatProblem(problem)));
    }
    const before = this.#told;
    this.#told = now;
    const errors: string[] = [];
    for (const [file, lines] of now) {
      const added = [...lines].filter((line) => before.get(file)?.has(line) !== true);
      if (added.length === 0) continue;
      const held = this.#files.get(file);
      const isHeld =
        held !== undefined &&
        !this.#options.isEmpty(held.content) &&
        (held.problems.length > 0 || this.#unread.some((problem) => problem.file === file));
      errors.push(...added, ...(isHeld ? [`${file}: until this is right, what it said before holds`] : []));
    }
    const notes = [...before.keys()].filter((file) => !now.has(file)).map((file) => `${file} is right again`);
    return { errors, notes, warnings: this.#warnings };
  }
}
