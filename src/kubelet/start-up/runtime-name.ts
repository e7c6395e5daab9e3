/** The name of the container runtime, which container ids in statuses begin with. */
export class RuntimeName {
  readonly #version: () => Promise<{ readonly runtimeName: string }>;
  #name = 'unknown';

  constructor(version: () => Promise<{ readonly runtimeName: string }>) {
    this.#version = version;
  }

  /** `unknown` until the runtime was asked. */
  get current(): string {
    return this.#name;
  }

  async read(): Promise<void> {
    this.#name = (await this.#version()).runtimeName;
  }
}
