/** One end of a cycle between rooms: those that are built first hold the link, the one that is built last is connected. */
export class Link<T> {
  readonly #name: string;
  #connected: { readonly target: T } | undefined;

  /** The name says in errors what is missing. */
  constructor(name: string) {
    this.#name = name;
  }

  /** Throws when the link has a target already: a link has one other end. */
  connect(target: T): T {
    if (this.#connected !== undefined) throw new Error(`${this.#name} is connected already`);
    this.#connected = { target };
    return target;
  }

  /** For those who can do without it while the kubelet is being built. */
  get ifConnected(): T | undefined {
    return this.#connected?.target;
  }

  /** Throws before `connect`: nothing may cross a link while the kubelet is being built. */
  get target(): T {
    if (this.#connected === undefined) throw new Error(`${this.#name} is not built yet`);
    return this.#connected.target;
  }
}
