/** The node as it would be registered, built here and kept for those who ask before a cluster has told of it. */
import type { Node } from '../../kube/index.js';

export class LocalNode {
  readonly #build: () => Promise<Node>;
  #built: Node | undefined;

  constructor(build: () => Promise<Node>) {
    this.#build = build;
  }

  /** As it was last built; undefined before the first time. */
  get known(): Node | undefined {
    return this.#built;
  }

  async get(): Promise<Node> {
    return this.#built ?? (await this.rebuild());
  }

  async rebuild(): Promise<Node> {
    this.#built = await this.#build();
    return this.#built;
  }
}
