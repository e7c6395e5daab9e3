/** The priority of pods that no API server has admitted: only the classes that every cluster has are known. */
import type { PodSpec } from '../types/pod.js';
import { criticalPriority } from './pod-names.js';

const builtInClasses: ReadonlyMap<string, number> = new Map([
  ['system-cluster-critical', criticalPriority],
  ['system-node-critical', criticalPriority + 1_000],
]);

/** The spec with the number that the API server would give its class. A number that the manifest has stays. */
export function withBuiltInPriority<S extends PodSpec>(spec: S): S {
  const priority = builtInClasses.get(spec.priorityClassName ?? '');
  return priority === undefined || spec.priority !== undefined ? spec : { ...spec, priority };
}
