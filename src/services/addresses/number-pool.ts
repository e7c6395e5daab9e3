/** Whole numbers given to owners: never one to two, always the same one to the same owner while it is free. */
import { createHash } from 'node:crypto';

export interface NumberPoolOptions {
  readonly first: number;
  readonly last: number;
  /** Numbers below it are given only when all others are taken: they stay free for those who ask for one. */
  readonly firstChosen?: number;
}

export class NumberPool {
  readonly #options: Required<NumberPoolOptions>;
  readonly #owners = new Map<number, string>();

  constructor({ first, last, firstChosen = first }: NumberPoolOptions) {
    this.#options = { first, last, firstChosen: Math.max(first, Math.min(firstChosen, last)) };
  }

  get taken(): number {
    return this.#owners.size;
  }

  has(number: number): boolean {
    const { first, last } = this.#options;
    return Number.isInteger(number) && number >= first && number <= last;
  }

  ownerOf(number: number): string | undefined {
    return this.#owners.get(number);
  }

  /** A number for the owner; undefined when none is free. `use` tells several numbers of one owner apart. */
  allocate(owner: string, use = ''): number | undefined {
    const { first, last, firstChosen } = this.#options;
    const number = this.#freeFrom(firstChosen, last, owner, use) ?? this.#freeFrom(first, last, owner, use);
    if (number !== undefined) this.#owners.set(number, owner);
    return number;
  }

  /** Whether the owner has the number now. */
  reserve(number: number, owner: string): boolean {
    if (!this.has(number)) return false;
    const present = this.#owners.get(number);
    if (present !== undefined) return present === owner;
    this.#owners.set(number, owner);
    return true;
  }

  /** Does nothing if somebody else has the number. */
  release(number: number, owner: string): void {
    if (this.#owners.get(number) === owner) this.#owners.delete(number);
  }

  clear(): void {
    this.#owners.clear();
  }

  /** The search begins where the owner's name points, so that who is made anew gets its number again. */
  #freeFrom(first: number, last: number, owner: string, use: string): number | undefined {
    const size = last - first + 1;
    if (size < 1) return undefined;
    const start = createHash('sha256').update(`${owner}\0${use}`).digest().readUIntBE(0, 6) % size;
    // At most one step for each taken number leads past all of them.
    const steps = Math.min(size, this.#owners.size + 1);
    for (let step = 0; step < steps; step++) {
      const number = first + ((start + step) % size);
      if (!this.#owners.has(number)) return number;
    }
    return undefined;
  }
}
