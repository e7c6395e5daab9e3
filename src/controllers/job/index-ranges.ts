/** Sets of completion indexes as text, such as `0-2,5`. */

const largest = 1_000_000;

/** The indexes below the limit; parts that nobody can read are left out. */
export function parseIndexes(text: string | undefined, limit: number): Set<number> {
  const found = new Set<number>();
  for (const part of (text ?? '').split(',')) {
    const [, first = '', last = first] = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(part.trim()) ?? [];
    if (first === '') continue;
    const end = Math.min(Number(last), limit - 1, largest);
    for (let index = Number(first); index <= end; index++) found.add(index);
  }
  return found;
}

export function formatIndexes(indexes: ReadonlySet<number>): string {
  const parts: string[] = [];
  const sorted = [...indexes].sort((a, b) => a - b);
  for (let from = 0; from < sorted.length; ) {
    let to = from;
    while (to + 1 < sorted.length && sorted[to + 1] === (sorted[to] ?? 0) + 1) to++;
    parts.push(
      from === to
        ? `${sorted[from]}`
        : to === from + 1
          ? `${sorted[from]},${sorted[to]}`
          : `${sorted[from]}-${sorted[to]}`,
    );
    from = to + 1;
  }
  return parts.join(',');
}
