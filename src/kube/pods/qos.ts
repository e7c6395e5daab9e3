/** A pod's QoS class, which decides its cgroup, its OOM score and its eviction rank. */
import type { ResourceRequirements } from '../types/container.js';
import type { ResourceList } from '../types/meta.js';
import type { PodManifest } from '../types/pod.js';
import type { PodQOSClass } from '../types/pod-status.js';
import { parseQuantity } from '../values/quantity.js';

const qosResources = ['cpu', 'memory'] as const;

/** The class the API recorded, or else the computed one. */
export function qosClass(pod: PodManifest): PodQOSClass {
  return pod.status?.qosClass ?? computeQosClass(pod);
}

/** The class that follows from the resources, whatever the API recorded. */
export function computeQosClass(pod: PodManifest): PodQOSClass {
  const { spec } = pod;
  const known = classes.get(spec);
  if (known !== undefined) return known;
  const shapes = new Set(consideredResources(pod).map(shapeOf));
  const [shape = 'BestEffort'] = shapes;
  const computed = shapes.size > 1 ? 'Burstable' : shape;
  classes.set(spec, computed);
  return computed;
}

/** Asked for once for each container of a pod, and for each it takes all of them. A spec never changes in place. */
const classes = new WeakMap<PodManifest['spec'], PodQOSClass>();

/** The class of a pod with only these resources. */
function shapeOf(resources: ResourceRequirements | undefined): PodQOSClass {
  const amounts = qosResources.map((name) => ({
    request: positiveNanos(resources?.requests, name),
    limit: positiveNanos(resources?.limits, name),
  }));
  if (amounts.every(({ request, limit }) => request === 0n && limit === 0n)) return 'BestEffort';
  if (amounts.every(({ request, limit }) => request === limit && request !== 0n)) return 'Guaranteed';
  return 'Burstable';
}

/** Pod-level resources stand for the whole pod when they name anything that a pod can have of its own. */
function consideredResources({ spec }: PodManifest): (ResourceRequirements | undefined)[] {
  const { resources } = spec;
  const names = [resources?.requests, resources?.limits].flatMap((list) => Object.keys(list ?? {}));
  if (names.some((name) => name === 'cpu' || name === 'memory' || name.startsWith('hugepages-')))
    return [resources];
  return [...spec.containers, ...(spec.initContainers ?? [])].map((container) => container.resources);
}

function positiveNanos(list: ResourceList | undefined, name: string): bigint {
  const text = list?.[name];
  const nanos = text === undefined ? 0n : parseQuantity(text).nanos;
  return nanos > 0n ? nanos : 0n;
}
