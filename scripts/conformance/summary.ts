/** What a person reads of the run: a line for each spec that has ended, and at the end all that matters once more. */
import type { SpecResult } from './report.js';

const indent = ' '.repeat(8);

export function formatResult({ name, tookSeconds, outcome }: SpecResult): string {
  const took = `${Math.round(tookSeconds)} s`.padStart(6);
  switch (outcome.kind) {
    case 'passed':
      return `passed  ${took}  ${name}`;
    case 'skipped':
      return `skipped ${took}  ${name}\n${indent}${outcome.reason}`;
    case 'failed':
      return `FAILED  ${took}  ${name}\n${indent}${outcome.reason}`;
  }
}

export interface Summary {
  readonly results: readonly SpecResult[];
  /** Images that specs wanted and no archive holds. */
  readonly missingImages: readonly string[];
  readonly tookSeconds: number;
}

export function formatSummary({ results, missingImages, tookSeconds }: Summary): string {
  const of = (kind: SpecResult['outcome']['kind']) => results.filter(({ outcome }) => outcome.kind === kind);
  const failed = of('failed');
  const lines = [
    ...(failed.length === 0 ? [] : ['', 'Failed:', ...failed.map(formatResult)]),
    ...(missingImages.length === 0
      ? []
      : ['', `Images wanted and in no archive: ${missingImages.join(', ')}`]),
    '',
    `${of('passed').length} passed, ${failed.length} failed, ${of('skipped').length} skipped ` +
      `of ${results.length} specs in ${Math.round(tookSeconds / 6) / 10} min`,
  ];
  return lines.join('\n');
}
