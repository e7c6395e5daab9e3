/** Does work of many pieces in short slices, so that a burst never holds up the page; a piece that waits is done once. */

/** Less than a frame. */
const sliceMs = 6;
/** What comes within this time is done together. */
const collectMs = 100;

export class SlicedWork<Piece> {
  readonly #waiting = new Set<Piece>();
  readonly #act: (piece: Piece) => void;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(act: (piece: Piece) => void) {
    this.#act = act;
  }

  add(piece: Piece): void {
    this.#waiting.add(piece);
    this.#timer ??= setTimeout(() => this.#slice(), collectMs);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#waiting.clear();
  }

  #slice(): void {
    this.#timer = undefined;
    const untilMs = performance.now() + sliceMs;
    for (const piece of this.#waiting) {
      this.#waiting.delete(piece);
      this.#act(piece);
      if (performance.now() >= untilMs) break;
    }
    if (this.#waiting.size > 0) this.#timer = setTimeout(() => this.#slice(), 0);
  }
}
