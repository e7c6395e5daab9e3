/** Formats tables as kubectl does: columns as wide as their widest cell, with three spaces between. */

const gap = '   ';

/** Each row has as many cells as the header. The last column is not padded. */
export function formatTable(
  header: readonly string[] | undefined,
  rows: readonly (readonly string[])[],
): string {
  return formatRows(header === undefined ? rows : [header, ...rows], columnWidths(header, rows));
}

export function columnWidths(
  header: readonly string[] | undefined,
  rows: readonly (readonly string[])[],
): number[] {
  const widths: number[] = [];
  for (const row of header === undefined ? rows : [header, ...rows]) {
    for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, cell.length);
  }
  return widths;
}

/** Keeps later rows in the columns of earlier ones, as far as they fit. */
export function formatRows(rows: readonly (readonly string[])[], widths: readonly number[]): string {
  return rows
    .map((row) => {
      const cells = row.map((cell, at) => (at === row.length - 1 ? cell : cell.padEnd(widths[at] ?? 0)));
      return `${cells.join(gap)}\n`;
    })
    .join('');
}
