/** Decides which processes the kernel kills first when the node runs out of memory. */
import {
  type AnyContainer,
  aggregateContainers,
  claimedShare,
  isCriticalPod,
  isSidecar,
  type Pod,
  qosClass,
  quantityUnits,
  quantityValue,
} from '../../kube/index.js';

const guaranteedScore = -997;
const bestEffortScore = 1000;
/** Burstable containers stay above this, since a guaranteed one that uses all memory scores 3, too. */
const lowestBurstableScore = 1000 + guaranteedScore;

/** The more of the node's memory a burstable container requests, the later it is killed. */
export function containerOomScoreAdj(pod: Pod, container: AnyContainer, memoryCapacityBytes: number): number {
  if (isCriticalPod(pod) && pod.spec.priorityClassName === 'system-node-critical') return guaranteedScore;
  switch (qosClass(pod)) {
    case 'Guaranteed':
      return guaranteedScore;
    case 'BestEffort':
      return bestEffortScore;
    case 'Burstable':
      return burstableScore(pod, container, memoryCapacityBytes);
  }
}

function burstableScore(pod: Pod, container: AnyContainer, memoryCapacityBytes: number): number {
  const spareBytes = spareRequestBytes(pod);
  const scoreOf = (requestBytes: number): number =>
    memoryCapacityBytes <= 0
      ? bestEffortScore
      : 1000 - Math.trunc((1000 * (requestBytes + spareBytes)) / memoryCapacityBytes);
  const claimed = claimedShare(pod, container.name).get('memory');
  const claimedBytes = claimed === undefined ? 0 : Number(quantityValue(claimed));
  let score = scoreOf(quantityUnits(container.resources?.requests?.memory) + claimedBytes);
  // A sidecar serves the regular containers, so it must not be killed before any of them.
  if (pod.spec.initContainers?.some((init) => init.name === container.name && isSidecar(init)) === true) {
    const smallestRequest = Math.min(
      ...pod.spec.containers.map((regular) => quantityUnits(regular.resources?.requests?.memory)),
    );
    score = Math.min(score, scoreOf(smallestRequest));
  }
  if (score < lowestBurstableScore) return lowestBurstableScore;
  return score === bestEffortScore ? bestEffortScore - 1 : score;
}

/** What the pod requests beyond its containers, spread evenly over them. */
function spareRequestBytes(pod: Pod): number {
  const podRequestBytes = quantityUnits(pod.spec.resources?.requests?.memory);
  if (podRequestBytes === 0) return 0;
  const together = aggregateContainers(pod.spec, 'requests').get('memory');
  const spareBytes = podRequestBytes - (together === undefined ? 0 : Number(quantityValue(together)));
  const count = pod.spec.containers.length + (pod.spec.initContainers?.length ?? 0);
  return spareBytes > 0 ? Math.trunc(spareBytes / count) : 0;
}
