/** `/metrics/cadvisor` as text: every family, each with the samples of all subjects. */
import { cadvisorFamilies, type ScrapeNow } from './cadvisor-families.js';
import type { CadvisorSubject } from './cadvisor-subject.js';
import { headText, sampleLine } from './exposition.js';

/** Families without samples are omitted, and so is a subject with the labels of another. */
export function containersText(subjects: readonly CadvisorSubject[], now: ScrapeNow): string {
  const shown = [...new Map(subjects.map((subject) => [subject.labels, subject])).values()];
  const lines: string[] = [];
  for (const family of cadvisorFamilies) {
    const before = lines.length;
    lines.push(headText(family));
    const { name } = family;
    for (const subject of shown) {
      const { labels } = subject;
      family.write(
        subject,
        (value, atMs, more) => {
          lines.push(sampleLine(name, more === undefined ? labels : `${labels},${more}`, value, atMs));
        },
        now,
      );
    }
    if (lines.length === before + 1) lines.pop();
  }
  return lines.join('');
}
