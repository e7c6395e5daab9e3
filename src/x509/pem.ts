/** Finds the PEM blocks of one label in any text. */

export interface PemBlock {
  /** Including its BEGIN and END lines. */
  readonly whole: string;
  readonly body: string;
}

/** Linear time, even for a text of BEGIN lines without an END. */
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
