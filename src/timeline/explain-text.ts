/** An explanation as one screen of text. */

import { clockTime } from './clock-time.js';
import { formatDuration } from './duration-text.js';
import type { ExplainedStep, Explanation } from './explain.js';

/** What a container printed before it ended, made harmless for a screen. */
export interface ExitLog {
  readonly container: string;
  readonly exitCode: number;
  /** The last ones; empty when it printed nothing. */
  readonly lines: readonly string[];
}

export interface TextOptions {
  /** Steps to show at most, the latest; all when undefined. */
  readonly maxSteps?: number;
  /** Who kept the pod is gone, as this sentence says: what is known is not how it is now. */
  readonly gone?: string;
  /** Of containers that have ended; they stand below their containers. */
  readonly exits?: readonly ExitLog[];
}

export function explanationText(
  explanation: Explanation,
  { maxSteps, gone, exits = [] }: TextOptions = {},
): string {
  const { pod, steps, phase, ready, containers, given, asked, waitsFor, inProgress, unblock } = explanation;
  const shown = maxSteps === undefined ? steps : steps.slice(-maxSteps);
  const lines = [`Pod ${pod.namespace}/${pod.name} (${pod.uid})`, ''];
  if (shown.length < steps.length)
    lines.push(`  … ${steps.length - shown.length} earlier steps; --all shows them`);
  lines.push(...shown.map(stepLine), '');
  if (gone !== undefined) lines.push(gone);
  const when =
    gone === undefined ? 'Now' : `At ${clockTime(steps.at(-1)?.timeMs ?? 0)}, the last that is known`;
  lines.push(`${when}: ${phase}, ${ready ? 'ready' : 'not ready'}`);
  for (const { name, state, restarts } of containers) {
    lines.push(
      `  ${name}: ${state}${restarts === 0 ? '' : `, ${restarts} restart${restarts === 1 ? '' : 's'}`}`,
    );
    const exit = exits.find(({ container }) => container === name);
    if (exit !== undefined) lines.push(...exitLines(exit));
  }
  if (given !== undefined) lines.push(`Given: ${given}${asked === undefined ? '' : `; asked for: ${asked}`}`);
  const waits = gone === undefined ? 'Waits for' : 'Waited for';
  const underWay = inProgress && `${inProgress.text}, since ${clockTime(inProgress.sinceMs)}`;
  lines.push(waitsFor.length === 0 ? `${waits}: ${underWay ?? 'nothing'}` : `${waits}:`);
  lines.push(...waitsFor.map((text) => `  ${text}`));
  // Whoever would try again is gone.
  if (unblock.length > 0 && gone === undefined)
    lines.push('What would help:', ...unblock.map((text) => `  ${text}`));
  return `${lines.join('\n')}\n`;
}

function exitLines({ exitCode, lines }: ExitLog): string[] {
  if (lines.length === 0) return [`    it ended with ${exitCode} and had printed nothing`];
  return [`    the last lines before it ended with ${exitCode}:`, ...lines.map((line) => `    | ${line}`)];
}

export function stepLine({
  timeMs,
  message,
  container,
  because,
  durationMs,
  error,
  problem,
}: ExplainedStep): string {
  const subject = container === undefined ? '' : `${container}: `;
  const took = durationMs === undefined ? '' : ` (${formatDuration(durationMs)})`;
  const cause = because === undefined || because === '' ? '' : `  because ${because}`;
  const failure = error === undefined || message.includes(error) ? '' : `: ${error}`;
  return `  ${clockTime(timeMs)} ${problem ? '!' : ' '} ${subject}${message}${took}${failure}${cause}`.replaceAll(
    '\n',
    ' ',
  );
}
