/** What a recording remembers of answers, so that the record has each of them once. */
import { BoundedMap, textBytes } from '../async/index.js';
import { changeOfList, type KeptList, listAnswer } from './answer-lists.js';
import { recordLimits } from './limits.js';
import { toJson } from './values.js';

/** Both sides of a record remember the same answers. */
export const answersKept = {
  maxEntries: recordLimits.rememberedAnswers,
  maxBytes: recordLimits.rememberedAnswerBytes,
};

/** An answer that is shorter costs no more than the word that it is the same. */
export const shortestKept = 64;

type RecordedAnswer =
  | { readonly text: string; readonly list?: undefined; readonly bytes: number }
  | { readonly text?: undefined; readonly list: KeptList; readonly bytes: number };

export interface AnswerFields {
  /** Fields of the entry, to be put behind others. */
  readonly json: string;
  /** Whether it says anything that the answer before did not say. */
  readonly isNews: boolean;
}

const sameAsBefore: AnswerFields = { json: ',"r":1', isNews: false };

export class AnswerBook {
  readonly #answers = new BoundedMap<string, RecordedAnswer>({
    ...answersKept,
    bytesOf: (key, { bytes }) => textBytes(key) + bytes,
  });

  /** Whether this question was answered before. */
  has(key: string): boolean {
    return this.#answers.has(key);
  }

  clear(): void {
    this.#answers.clear();
  }

  /** What the record has of an answer. */
  fieldsOf(key: string, shown: unknown): AnswerFields {
    if (shown === undefined) return { json: '', isNews: true };
    return this.#fieldsOfList(key, shown) ?? this.#fieldsOfText(key, JSON.stringify(toJson(shown)));
  }

  #fieldsOfList(key: string, shown: unknown): AnswerFields | undefined {
    const list = listAnswer(shown);
    if (list === undefined) return undefined;
    const found = changeOfList(list, this.#answers.get(key)?.list);
    if (found === undefined) return undefined;
    const { change, isNews, kept } = found;
    if (change === undefined) {
      this.#answers.use(key);
      return sameAsBefore;
    }
    this.#answers.set(key, { list: kept, bytes: kept.bytes });
    return { json: `,"l":${JSON.stringify(change)}`, isNews };
  }

  #fieldsOfText(key: string, text: string): AnswerFields {
    if (text.length >= shortestKept) {
      if (this.#answers.use(key)?.text === text) return sameAsBefore;
      this.#answers.set(key, { text, bytes: textBytes(text) });
    }
    return { json: `,"v":${text}`, isNews: true };
  }
}
