/** How long a pod may take to stop: decided anew with every request, and only ever shorter. */

export interface GraceInput {
  /** Seconds decided before; zero when none were. */
  readonly currentSeconds: number;
  readonly deletionGraceSeconds: number | undefined;
  readonly overrideSeconds: number | undefined;
  readonly specSeconds: number | undefined;
}

export function effectiveGrace(input: GraceInput): { readonly seconds: number; readonly shortened: boolean } {
  let seconds = input.currentSeconds;
  let taken = false;
  for (const wanted of [input.deletionGraceSeconds, input.overrideSeconds]) {
    if (wanted !== undefined && (seconds === 0 || wanted < seconds)) {
      seconds = wanted;
      taken = true;
    }
  }
  if (!taken && seconds === 0 && input.specSeconds !== undefined) seconds = input.specSeconds;
  seconds = Math.max(1, seconds);
  return { seconds, shortened: input.currentSeconds !== 0 && seconds !== input.currentSeconds };
}
