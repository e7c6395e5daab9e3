/** Limits open-ended responses, so that they leave room for the others. */
import { type RouteResponse, text } from './responses.js';

export class Sessions {
  readonly #limit: number;
  #open = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The refusal for one session too many; undefined while there is room. */
  refusal(): RouteResponse | undefined {
    if (this.#open < this.#limit) return undefined;
    const { headers, ...response } = text(429, `too many streams: ${this.#limit} are open`);
    return { ...response, headers: { ...headers, 'Retry-After': '60' } };
  }

  async during(session: () => Promise<void>): Promise<void> {
    this.#open++;
    try {
      await session();
    } finally {
      this.#open--;
    }
  }
}
