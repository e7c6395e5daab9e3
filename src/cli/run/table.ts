/** Formats a table that fits a screen. */
import { cleanText } from '../print/clean-text.js';

export interface Cell {
  readonly text: string;
  readonly tone?: 'good' | 'bad' | 'busy' | 'quiet' | undefined;
}

export interface ScreenSize {
  readonly columns: number;
  readonly rows: number;
}

const gap = '   ';
const tones = { good: '\u001b[32m', bad: '\u001b[31m', busy: '\u001b[33m', quiet: '\u001b[2m' } as const;
const reset = '\u001b[0m';
/** The last column is hidden when it would be narrower. */
const minLastWidth = 12;
/** The first column is not cut below this width. */
const minFirstWidth = 10;

/** Returns lines that fit the width. The last column takes the rest, and is hidden when that is too little. */
export function tableLines(
  header: readonly string[],
  rows: readonly (readonly Cell[])[],
  columns: number,
  color: boolean,
): string[] {
  const head = header.map((text): Cell => ({ text, tone: 'quiet' }));
  const all = [head, ...rows.map((cells) => cells.map(cleaned))];
  const widths = header.map((_, index) => Math.max(...all.map((cells) => length(cells[index]?.text ?? ''))));
  // A long name must not push out the other columns.
  const others = widths.slice(1, -1).reduce((sum, width) => sum + gap.length + width, 0);
  widths[0] = Math.min(widths[0] ?? 0, Math.max(minFirstWidth, columns - others));
  const usedBefore = widths.slice(0, -1).reduce((sum, width) => sum + width + gap.length, 0);
  const last = header.length - 1;
  const isLastUseful =
    rows.some((cells) => (cells[last]?.text ?? '') !== '') && columns - usedBefore >= minLastWidth;
  const shown = isLastUseful ? header.length : last;
  return all.map((cells) => {
    let room = columns;
    let line = '';
    for (let index = 0; index < shown && room > 0; index++) {
      const { text = '', tone } = cells[index] ?? {};
      const isEnd = index === shown - 1;
      const cut = cutTo(text, index === 0 ? Math.min(room, widths[0] ?? room) : room);
      const padded = isEnd ? cut : cut.padEnd(Math.min(widths[index] ?? 0, room) + cut.length - length(cut));
      line += tone !== undefined && color ? `${tones[tone]}${padded}${reset}` : padded;
      room -= length(padded);
      if (isEnd || room <= gap.length) break;
      line += gap;
      room -= gap.length;
    }
    return color ? line : line.trimEnd();
  });
}

/** Cuts the text to a width, and marks the cut with `…`. */
export function cutTo(text: string, width: number): string {
  const characters = [...text];
  if (characters.length <= width) return text;
  return width <= 0 ? '' : `${characters.slice(0, width - 1).join('')}…`;
}

/** Keeps the first lines, and says how many of all are hidden. */
export function cutToHeight(lines: readonly string[], height: number, total: number, what: string): string[] {
  if (total <= height) return [...lines];
  const kept = Math.max(0, height - 1);
  return [...lines.slice(0, kept), `… ${total - kept} more ${what}`].slice(0, Math.max(0, height));
}

function cleaned({ text, tone }: Cell): Cell {
  return { text: cleanText(text), tone };
}

function length(text: string): number {
  return [...text].length;
}
