/** Finds the known name that a mistyped one was probably meant to be. */

/** The known name with the smallest edit distance, if it is close enough to be worth proposing. */
export function nearestName(wanted: string, known: Iterable<string>): string | undefined {
  const folded = wanted.toLowerCase();
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(wanted.length / 3)) + 1;
  for (const name of known) {
    // So many letters must be added or left out at least: a very long name is compared with none.
    if (Math.abs(name.length - wanted.length) >= bestDistance) continue;
    const distance = editDistance(folded, name.toLowerCase());
    if (distance < bestDistance) {
      best = name;
      bestDistance = distance;
    }
  }
  return best;
}

/** How many letters must be changed, added or left out to make one of the other. */
export function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const substitution = (previous[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      const insertion = (current[column - 1] ?? 0) + 1;
      const deletion = (previous[column] ?? 0) + 1;
      current.push(Math.min(substitution, insertion, deletion));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}
