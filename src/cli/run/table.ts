/** A table cut to the size of a screen. */

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
/** The narrowest that the last column is worth showing. */
const leastLast = 12;
/** The narrowest that the first column is cut to. */
const leastFirst = 10;

/** Lines that are never wider than the screen; the last column takes what is left, and goes where nothing is. */
export function tableLines(
  header: readonly string[],
  rows: readonly (readonly Cell[])[],
  columns: number,
  color: boolean,
): string[] {
  const head = header.map((text): Cell => ({ text, tone: 'quiet' }));
  const all = [head, ...rows.map((cells) => cells.map(cleaned))];
  const widths = header.map((_, index) => Math.max(...all.map((cells) => length(cells[index]?.text ?? ''))));
  // A long name must not push out how the pod does.
  const others = widths.slice(1, -1).reduce((sum, width) => sum + gap.length + width, 0);
  widths[0] = Math.min(widths[0] ?? 0, Math.max(leastFirst, columns - others));
  const usedBefore = widths.slice(0, -1).reduce((sum, width) => sum + width + gap.length, 0);
  const last = header.length - 1;
  const isLastUseful =
    rows.some((cells) => (cells[last]?.text ?? '') !== '') && columns - usedBefore >= leastLast;
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

/** The text in so many characters, with a mark where something is missing. */
export function cutTo(text: string, width: number): string {
  const characters = [...text];
  if (characters.length <= width) return text;
  return width <= 0 ? '' : `${characters.slice(0, width - 1).join('')}…`;
}

/** Keeps the top and tells how many of all lines are not shown. */
export function cutToHeight(lines: readonly string[], height: number, total: number, what: string): string[] {
  if (total <= height) return [...lines];
  const kept = Math.max(0, height - 1);
  return [...lines.slice(0, kept), `… ${total - kept} more ${what}`].slice(0, Math.max(0, height));
}

/** Messages come from elsewhere: what would move the cursor must not reach the screen. */
function cleaned({ text, tone }: Cell): Cell {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what must go
  return { text: text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' '), tone };
}

function length(text: string): number {
  return [...text].length;
}
