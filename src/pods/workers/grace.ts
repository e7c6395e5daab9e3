/** How long a pod may take to stop: decided anew with every request, and only ever shorter. */

export interface PodGraceInput {
  /** What was decided before; undefined when nothing was. */
  readonly currentSeconds: number | undefined;
  readonly deletionGraceSeconds: number | undefined;
  readonly overrideSeconds: number | undefined;
  readonly specSeconds: number | undefined;
}

export function effectiveGrace(input: PodGraceInput): {
  readonly seconds: number;
  readonly shortened: boolean;
} {
  const { currentSeconds, deletionGraceSeconds, overrideSeconds, specSeconds } = input;
  // Zero counts as none, also one that was just taken: an override beats a deletion with grace 0.
  let seconds = currentSeconds ?? 0;
  let taken = false;
  for (const wanted of [deletionGraceSeconds, overrideSeconds]) {
    if (wanted !== undefined && (seconds === 0 || wanted < seconds)) {
      seconds = wanted;
      taken = true;
    }
  }
  if (!taken && seconds === 0 && specSeconds !== undefined) seconds = specSeconds;
  seconds = Math.max(1, seconds);
  return { seconds, shortened: currentSeconds !== undefined && seconds !== currentSeconds };
}
