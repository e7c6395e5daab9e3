/** Prints what goes wrong on nodes: a thousand nodes with one trouble make one line, not a thousand. */
import type { Clock, Timer } from '../../async/index.js';

/** Nodes with the same words are told together after this. */
const collectMs = 1_000;
/** Different words that wait; further ones are counted only. */
const mostTexts = 100;

export class ProblemPrinter {
  readonly #print: (line: string) => void;
  readonly #clock: Clock;
  readonly #waiting = new Map<string, { readonly first: string; count: number }>();
  #more = 0;
  #timer: Timer | undefined;

  constructor(print: (line: string) => void, clock: Clock) {
    this.#print = print;
    this.#clock = clock;
  }

  tell(nodeName: string, message: string): void {
    // A node's own name would make every line another one.
    const text = nodeName === '' ? message : message.replaceAll(nodeName, 'NODE');
    const known = this.#waiting.get(text);
    if (known !== undefined) known.count++;
    else if (this.#waiting.size >= mostTexts) this.#more++;
    else this.#waiting.set(text, { first: nodeName, count: 1 });
    this.#timer ??= this.#clock.setTimer(collectMs, () => this.#flush());
  }

  close(): void {
    this.#flush();
  }

  #flush(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    for (const [text, { first, count }] of this.#waiting) {
      const who = first === '' ? '' : count === 1 ? `${first}: ` : `${first} and ${count - 1} more: `;
      this.#print(`nodelet hollow: ${who}${text}`);
    }
    if (this.#more > 0) this.#print(`nodelet hollow: and ${this.#more} other problems`);
    this.#waiting.clear();
    this.#more = 0;
  }
}
