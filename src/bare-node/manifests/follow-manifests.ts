/** Keeps the objects of this node's API as the manifests that a person follows have them. */
import { type Clock, isCancelled, sleep } from '../../async/index.js';
import type { Problem } from '../../kube/index.js';
import { type FilesReading, FollowedFiles } from '../../pods/sources/followed-files.js';
import { HeldFiles } from '../../pods/sources/held-files.js';
import { type AppliedApi, ManifestApplier } from './apply-manifests.js';
import { type AppliedManifest, readManifest } from './read-manifest.js';

export interface FollowManifestsOptions {
  readonly api: AppliedApi;
  readonly clock: Clock;
  /** Files and directories. */
  readonly inputs: readonly string[];
  readonly onNews: (news: ApiManifestNews) => void;
  /** Whether changes are followed; if not, the files are read once. Default: true. */
  readonly follows?: boolean;
}

export interface ApiManifestNews {
  readonly errors: readonly string[];
  readonly notes: readonly string[];
  /** How many things are wrong now, told before or not. */
  readonly wrong: number;
}

/** What the API refused may be right later: its namespace may come, or another manager give a field up. */
const retryMs = 10_000;
const manifestNames = /\.(ya?ml|json)$/i;

export class ApiManifests {
  readonly #options: FollowManifestsOptions;
  readonly #applier: ManifestApplier;
  readonly #held: HeldFiles<readonly AppliedManifest[]>;
  readonly #files: FollowedFiles;
  /** Files and inputs whose content was read without errors at some time. */
  readonly #known = new Set<string>();
  #refused = false;
  #wrong = 0;
  #turn: Promise<void> = Promise.resolve();

  constructor(options: FollowManifestsOptions) {
    this.#options = options;
    const { api, clock, inputs } = options;
    this.#applier = new ManifestApplier(api);
    this.#held = new HeldFiles({
      parse: (text, file) => readManifest(text, file, api.kinds),
      isEmpty: (objects) => objects.length === 0,
    });
    this.#files = new FollowedFiles({ inputs, accepts: (name) => manifestNames.test(name), clock });
  }

  /** Runs until aborted, and then never ends: what happens next is up to whoever aborted it. */
  async run(signal: AbortSignal): Promise<never> {
    const { follows = true, onNews } = this.#options;
    try {
      const first = await this.#files.look();
      if (first !== undefined) await this.take(first);
      const slow = (message: string): void => onNews({ errors: [message], notes: [], wrong: this.#wrong });
      await Promise.race([
        this.#retry(signal),
        ...(follows ? [this.#files.run((reading) => this.take(reading), signal, slow)] : []),
      ]);
    } catch (error) {
      if (!isCancelled(error)) throw error;
    }
    return new Promise<never>(() => undefined);
  }

  async take(reading: FilesReading): Promise<void> {
    await this.#inTurn(async () => {
      this.#held.take(reading);
      for (const input of this.#options.inputs) if (!reading.problems.has(input)) this.#known.add(input);
      for (const { file, problems } of this.#held.files) if (problems.length === 0) this.#known.add(file);
      await this.#apply();
    });
  }

  async #retry(signal: AbortSignal): Promise<never> {
    for (;;) {
      await sleep(this.#options.clock, retryMs, signal);
      if (this.#refused) await this.#inTurn(() => this.#apply());
    }
  }

  async #inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.#turn.then(work);
    // Whoever called hears of a failure; the next one has its turn all the same.
    this.#turn = turn.catch(() => undefined);
    await turn;
  }

  async #apply(): Promise<void> {
    const { files, unread } = this.#held;
    const wrong: Problem[] = [...unread, ...files.flatMap(({ problems }) => problems)];
    // A file that was wrong from the start may have given the objects that seem to be removed.
    const mayPrune = wrong.every(({ file }) => this.#known.has(file));
    const objects = files.flatMap(({ content }) => content);
    const { problems, done } = await this.#applier.apply(objects, mayPrune);
    this.#refused = problems.length > 0;
    const wrongBefore = this.#wrong;
    this.#wrong = wrong.length + problems.length;
    const { errors, notes } = this.#held.tell([...wrong, ...problems]);
    if (errors.length + notes.length + done.length > 0 || this.#wrong !== wrongBefore)
      this.#options.onNews({ errors, notes: [...done, ...notes], wrong: this.#wrong });
  }
}
