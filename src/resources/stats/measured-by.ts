/** Decides once who measures pods: the kernel's files, or the runtime where it was asked to and can. */
import { type CriRuntime, isUnavailable, isUnimplemented } from '../../cri/index.js';

export type MeasuredBy = 'kernel' | 'runtime';

/**
 * Asks the runtime for the statistics of no sandbox at all: whoever does not know the call cannot be relied on, and whoever
 * complains of the missing sandbox can. Undefined while nobody answers.
 */
export async function measuredBy(cri: Pick<CriRuntime, 'podSandboxStats'>): Promise<MeasuredBy | undefined> {
  try {
    await cri.podSandboxStats({ podSandboxId: '' });
    return 'runtime';
  } catch (error) {
    if (isUnavailable(error)) return undefined;
    return isUnimplemented(error) ? 'kernel' : 'runtime';
  }
}

/** The first answer holds for the whole run; until there is one, the kernel measures. */
export function decidedOnce(
  ask: () => Promise<MeasuredBy | undefined>,
  onDecided: (by: MeasuredBy) => void,
): () => Promise<MeasuredBy> {
  let decided: MeasuredBy | undefined;
  let asking: Promise<MeasuredBy | undefined> | undefined;
  return async () => {
    if (decided !== undefined) return decided;
    asking ??= ask().finally(() => {
      asking = undefined;
    });
    const answer = await asking;
    if (answer !== undefined && decided === undefined) {
      decided = answer;
      onDecided(answer);
    }
    return decided ?? 'kernel';
  };
}
