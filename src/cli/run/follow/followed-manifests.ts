/** The content of followed manifests of a run: of each file what it said when it was last without errors. */
import type { Clock } from '../../../async/index.js';
import { agentLimits } from '../../../kube/index.js';
import { type FilesReading, FollowedFiles } from '../../../pods/sources/followed-files.js';
import { HeldFiles, type ManifestNews } from '../../../pods/sources/held-files.js';
import { emptyContent, type ManifestContent, mergedContent, readManifestText } from '../manifest.js';
import { manifestNames } from '../manifest-inputs.js';

export interface FollowedManifestsOptions {
  /** Files and directories. */
  readonly inputs: readonly string[];
  /** What does not change, as of URLs. */
  readonly fixed: ManifestContent;
  readonly clock: Clock;
}

export class FollowedManifests {
  readonly #files: FollowedFiles;
  readonly #fixed: ManifestContent;
  readonly #held = new HeldFiles<ManifestContent>({ parse: parseContent, isEmpty });
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
    const change = async (reading: FilesReading): Promise<void> => {
      const news = this.take(reading);
      onChange(this.#content, news);
    };
    return this.#files.run(change, signal, onSlow);
  }

  take(reading: FilesReading): ManifestNews {
    this.#held.take(reading);
    const unread = { ...emptyContent(), problems: [...this.#held.unread] };
    const contents = this.#held.files.map(({ content, problems }) => ({
      ...content,
      problems: [...problems],
    }));
    this.#content = mergedContent([unread, ...contents, this.#fixed]);
    return this.#held.tell(this.#content.problems);
  }
}

function parseContent(text: string, file: string) {
  const content = emptyContent();
  readManifestText(text, file, content, agentLimits);
  return { content, problems: content.problems, warnings: content.warnings };
}

function isEmpty({ pods, objects }: ManifestContent): boolean {
  return pods.length === 0 && Object.values(objects).every((list) => list.length === 0);
}
