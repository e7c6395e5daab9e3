/** Suggests a known name for a mistyped one. */

/** Returns the known name with the smallest edit distance; undefined when none is close. */
export function nearestName(wanted: string, known: Iterable<string>): string | undefined {
  const folded = wanted.toLowerCase();
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(wanted.length / 3)) + 1;
  for (const name of known) {
    // The lengths alone differ too much. This also skips the costly comparison of very long names.
    if (Math.abs(name.length - wanted.length) >= bestDistance) continue;
    const distance = editDistance(folded, name.toLowerCase());
    if (distance < bestDistance) {
      best = name;
      bestDistance = distance;
    }
  }
  return best;
}

/** Counts the letters to change, add or remove to turn one text into the other. */
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
