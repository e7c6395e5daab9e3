/** The name of the container runtime, which container ids in statuses begin with, and its version. */
import type { RuntimeVersion } from '../../runtime-manager/index.js';

type RuntimeAnswer = Pick<RuntimeVersion, 'runtimeName' | 'runtimeVersion'>;

export class RuntimeName {
  readonly #ask: () => Promise<RuntimeAnswer>;
  #answer: RuntimeAnswer | undefined;

  constructor(ask: () => Promise<RuntimeAnswer>) {
    this.#ask = ask;
  }

  /** `unknown` until the runtime was asked. */
  get current(): string {
    return this.#answer?.runtimeName ?? 'unknown';
  }

  /** Undefined until the runtime was asked. */
  get version(): string | undefined {
    return this.#answer?.runtimeVersion;
  }

  async read(): Promise<void> {
    this.#answer = await this.#ask();
  }
}
