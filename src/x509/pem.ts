/** Finds the blocks of one kind in PEM text, whatever else stands there. */

export interface PemBlock {
  /** With its first and last line. */
  readonly whole: string;
  readonly body: string;
}

/** In linear time, also for a text of first lines that have no last one. */
export function pemBlocks(text: string, label: string): PemBlock[] {
  const first = `-----BEGIN ${label}-----`;
  const last = `-----END ${label}-----`;
  const blocks: PemBlock[] = [];
  for (let start = text.indexOf(first); start >= 0; ) {
    const end = text.indexOf(last, start + first.length);
    if (end < 0) break;
    blocks.push({
      whole: text.slice(start, end + last.length),
      body: text.slice(start + first.length, end),
    });
    start = text.indexOf(first, end + last.length);
  }
  return blocks;
}
