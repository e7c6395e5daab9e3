/** Refuses pods while the node is under pressure: they would be the next to be evicted. */
import { isCriticalPod, qosClass, toleratesTaint } from '../../kube/index.js';
import type { PressureCondition } from '../../resources/eviction/index.js';
import { type AdmissionRule, admitted } from './admission.js';

const memoryPressureTaint = { key: 'node.kubernetes.io/memory-pressure', effect: 'NoSchedule' } as const;

export interface PressureNow {
  conditions(): readonly PressureCondition[];
  /** Whether containers of the pod run here already. */
  runsHere(uid: string): boolean;
}

/**
 * Memory is guarded by requests, so a pod that has one may come; disks and processes are not. A pod that runs here
 * since before the agent started is left to eviction, which ends no more pods than it has to.
 */
export function withoutPressure(now: PressureNow): AdmissionRule {
  return {
    name: 'pressure',
    admit({ pod, operation }) {
      const conditions = now.conditions();
      if (conditions.length === 0 || isCriticalPod(pod)) return admitted;
      if (operation === 'add' && now.runsHere(pod.metadata.uid)) return admitted;
      const isMemoryAlone = conditions.length === 1 && conditions[0] === 'MemoryPressure';
      if (isMemoryAlone) {
        const tolerates = toleratesTaint(pod.spec.tolerations ?? [], memoryPressureTaint);
        if (qosClass(pod) !== 'BestEffort' || tolerates) return admitted;
      }
      return {
        admit: false,
        reason: 'Evicted',
        message: `The node had condition: [${conditions.join(' ')}]. `,
      };
    },
  };
}
