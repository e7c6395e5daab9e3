/** The runtime's measurements of whole pods. */
import { errorText } from '../../async/index.js';
import { CriError, faultText, isUnimplemented, type KnownFaultId, recogniseFault } from '../../cri/index.js';
import type { StatsProviderOptions } from './provider.js';
import type { ListedByRuntime } from './stats-set.js';

export type WholePods = () => Promise<ListedByRuntime['sandboxStats']>;

/**
 * The runtime's measurements of whole pods, if available: it may lack the call, and one unmeasurable sandbox
 * fails it for all. Then a pod is the sum of its containers.
 */
export function wholePods({ cri, timeline }: Pick<StatsProviderOptions, 'cri' | 'timeline'>): WholePods {
  let last: string | undefined;
  const note = (problem: string | undefined, fault?: KnownFaultId): void => {
    if (problem === last) return;
    last = problem;
    timeline?.record({
      kind: 'notice',
      what: 'stats.pods',
      message:
        problem === undefined
          ? 'the runtime measures whole pods again'
          : 'pod statistics are the sums of their containers',
      ...(problem === undefined ? {} : { because: problem, level: 'warn' }),
      ...(fault === undefined ? {} : { because: `${faultText(fault)}: ${problem}`, data: { fault } }),
    });
  };
  return async () => {
    try {
      const { stats } = await cri.listPodSandboxStats({});
      note(undefined);
      return stats;
    } catch (error) {
      const fault =
        error instanceof CriError
          ? recogniseFault({ seen: 'failure', call: 'listPodSandboxStats', error })
          : undefined;
      note(isUnimplemented(error) ? undefined : withoutIds(errorText(error)), fault);
      return undefined;
    }
  };
}

/** The sandbox in the message may differ each time. */
function withoutIds(message: string): string {
  return message.replace(/[0-9a-f]{64}/g, '…');
}
