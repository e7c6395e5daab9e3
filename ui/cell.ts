/** A value that tells its readers when it has changed: what the parts of the page are drawn from. */
import { useLayoutEffect, useState } from 'preact/hooks';

export class Cell<T> {
  #value: T;
  readonly #readers = new Set<() => void>();

  constructor(value: T) {
    this.#value = value;
  }

  get value(): T {
    return this.#value;
  }

  set(value: T): void {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    for (const reader of [...this.#readers]) reader();
  }

  /** Returns how to stop that. */
  subscribe(reader: () => void): () => void {
    this.#readers.add(reader);
    return () => void this.#readers.delete(reader);
  }
}

/** Draws the component anew when the value changes. */
export function useCell<T>(cell: Cell<T>): T {
  const [, redraw] = useState({});
  useLayoutEffect(() => cell.subscribe(() => redraw({})), [cell]);
  return cell.value;
}
