/** `/metrics/cadvisor` as text: every family, each with the samples of all subjects. */
import { cadvisorFamilies, type EmitSample, type ScrapeNow } from './cadvisor-families.js';
import type { CadvisorSubject } from './cadvisor-subject.js';
import { headText } from './exposition.js';

/** One text a family, made when it is asked for. Families without samples are omitted, and so is a subject with the labels of another. */
export function* containersText(subjects: readonly CadvisorSubject[], now: ScrapeNow): Generator<string> {
  const shown = [...new Map(subjects.map((subject) => [subject.labels, subject])).values()];
  const only = shown.map(({ labels }) => `{${labels}} `);
  for (const family of cadvisorFamilies) {
    const samples = new FamilyText(family.name);
    for (const [at, subject] of shown.entries()) {
      samples.labels = subject.labels;
      samples.only = only[at] ?? '';
      family.write(subject, samples.emit, now);
    }
    if (samples.text !== '') yield headText(family) + samples.text;
  }
}

/** Takes the samples of one family. A scrape of a full node has some thirty thousand: nothing is made anew for each. */
class FamilyText {
  text = '';
  /** Of the subject whose samples come now. */
  labels = '';
  /** The same as a whole set, for samples without further labels: these are most. */
  only = '';
  readonly #name: string;
  #timeMs: number | undefined;
  #end = '\n';

  constructor(name: string) {
    this.#name = name;
  }

  readonly emit: EmitSample = (value, timeMs, more) => {
    if (timeMs !== this.#timeMs) {
      this.#timeMs = timeMs;
      this.#end = timeMs === undefined ? '\n' : ` ${Math.round(timeMs)}\n`;
    }
    const labels = more === undefined ? this.only : `{${this.labels},${more}} `;
    this.text += this.#name + labels + value + this.#end;
  };
}
