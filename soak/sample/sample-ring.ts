/** Rows of samples over any time in bounded memory: when it is full, every second row goes and fewer are taken from then on. */

export interface SampleRow {
  readonly atMs: number;
  readonly values: Readonly<Record<string, number>>;
}

export class SampleRing {
  readonly #mostRows: number;
  #rows: SampleRow[] = [];
  #every = 1;
  #offered = 0;

  constructor(mostRows: number) {
    this.#mostRows = mostRows;
  }

  get rows(): readonly SampleRow[] {
    return this.#rows;
  }

  add(row: SampleRow): void {
    if (this.#offered++ % this.#every !== 0) return;
    this.#rows.push(row);
    if (this.#rows.length < this.#mostRows) return;
    this.#rows = this.#rows.filter((_, at) => at % 2 === 0);
    this.#every *= 2;
  }
}
