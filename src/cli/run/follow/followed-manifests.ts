/** The content of followed manifests: what each file said when it was last without errors, and what is told of changes. */
import type { Clock } from '../../../async/index.js';
import { agentLimits, formatProblem, type Problem } from '../../../kube/index.js';
import { type FilesReading, FollowedFiles } from '../../../pods/sources/followed-files.js';
import { emptyContent, type ManifestContent, mergedContent, readManifestText } from '../manifest.js';
import { manifestNames } from '../manifest-inputs.js';

/** What people are told of a change of the files, a line each. */
export interface ManifestNews {
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
  readonly notes: readonly string[];
}

export interface FollowedManifestsOptions {
  /** Files and directories. */
  readonly inputs: readonly string[];
  /** What does not change, as of URLs. */
  readonly fixed: ManifestContent;
  readonly clock: Clock;
}

interface FileContent {
  /** What counts. */
  readonly held: ManifestContent;
  /** What is wrong with the file as it is now. */
  readonly problems: readonly Problem[];
}

export class FollowedManifests {
  readonly #files: FollowedFiles;
  readonly #fixed: ManifestContent;
  readonly #contents = new Map<string, FileContent>();
  /** By file: what was told of it. */
  #told: ReadonlyMap<string, ReadonlySet<string>> = new Map();
  #content = emptyContent();

  constructor({ inputs, fixed, clock }: FollowedManifestsOptions) {
    this.#fixed = fixed;
    this.#files = new FollowedFiles({ inputs, accepts: (name) => manifestNames.test(name), clock });
  }

  /** The whole content after the last change. */
  get content(): ManifestContent {
    return this.#content;
  }

  /** Reads everything. The caller tells what is wrong with the content. Whether there is anything to follow. */
  async first(): Promise<boolean> {
    const reading = await this.#files.look();
    if (reading !== undefined) this.take(reading);
    return reading !== undefined && (reading.files.length > 0 || reading.problems.size === 0);
  }

  /** Runs until aborted; calls back with the content and the news after each change of the files. */
  run(
    onChange: (content: ManifestContent, news: ManifestNews) => void,
    signal: AbortSignal,
    /** Told once of what keeps changes from being noticed at once. */
    onSlow?: (message: string) => void,
  ): Promise<void> {
    return this.#files.run(
      async (reading) => {
        const news = this.take(reading);
        onChange(this.#content, news);
      },
      signal,
      onSlow,
    );
  }

  take({ files, changed, problems }: FilesReading): ManifestNews {
    const warnings: string[] = [];
    for (const [file, text] of changed) {
      const read = emptyContent();
      readManifestText(text, file, read, agentLimits);
      warnings.push(...read.warnings.map(formatProblem));
      this.#contents.set(file, heldContent(this.#contents.get(file), read));
    }
    const present = new Set(files);
    for (const file of this.#contents.keys()) if (!present.has(file)) this.#contents.delete(file);
    const unread: Problem[] = [...problems].map(([file, message]) => ({
      file,
      line: 0,
      column: 0,
      field: '',
      message,
    }));
    const contents = files.flatMap((file) => {
      const { held, problems: wrong } = this.#contents.get(file) ?? {};
      return held === undefined || wrong === undefined ? [] : [{ ...held, problems: [...wrong] }];
    });
    this.#content = mergedContent([{ ...emptyContent(), problems: unread }, ...contents, this.#fixed]);
    return { warnings, ...this.#tell() };
  }

  /** What was not told before, and which files are without errors again. */
  #tell(): Pick<ManifestNews, 'errors' | 'notes'> {
    const now = new Map<string, Set<string>>();
    for (const problem of this.#content.problems) {
      const of = now.get(problem.file) ?? new Set();
      now.set(problem.file, of.add(formatProblem(problem)));
    }
    const before = this.#told;
    this.#told = now;
    const errors: string[] = [];
    for (const [file, lines] of now) {
      const added = [...lines].filter((line) => before.get(file)?.has(line) !== true);
      if (added.length === 0) continue;
      const runs = (this.#contents.get(file)?.held.pods.length ?? 0) > 0;
      errors.push(...added, ...(runs ? [`${file}: until this is right, what it said before holds`] : []));
    }
    const notes = [...before.keys()].filter((file) => !now.has(file)).map((file) => `${file} is right again`);
    return { errors, notes };
  }
}

/** A file with errors changes nothing of what it gave before; a part of it could be missing, and end its pods. */
function heldContent(before: FileContent | undefined, read: ManifestContent): FileContent {
  const { problems } = read;
  const isKept = problems.length > 0 && before !== undefined && hasContent(before.held);
  return { held: isKept ? before.held : { ...read, problems: [] }, problems };
}

function hasContent({ pods, objects }: ManifestContent): boolean {
  return pods.length > 0 || Object.values(objects).some((list) => list.length > 0);
}
