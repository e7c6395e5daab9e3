/** The texts of the events of a resize, and what users asked to change. */
import {
  compareQuantities,
  formatQuantity,
  isSidecar,
  type Pod,
  parseQuantity,
  podRequests,
  type ResourceRequirements,
} from '../../kube/index.js';
import { changesMemoryVolumes, sameRequirements } from './allocated-pod.js';

/** The resources of a pod's containers as one line of JSON; pod-level resources are not part of it. */
export function resizeText(pod: Pod, generation: number | undefined, error = ''): string {
  const listed = (containers: Pod['spec']['containers']) =>
    containers.map(({ name, resources }) => ({ name, resources: shown(resources) }));
  const init = pod.spec.initContainers ?? [];
  const text = JSON.stringify({
    ...(init.length === 0 ? {} : { initContainers: listed(init) }),
    containers: listed(pod.spec.containers),
    generation: generation ?? 0,
    ...(error === '' ? {} : { error }),
  });
  return text.replace(/[<>&\u2028\u2029]/g, asCode);
}

/** As the reference writes what must not stand in a web page. */
function asCode(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

function shown({ limits, requests, claims }: ResourceRequirements = {}): ResourceRequirements {
  return {
    ...(limits === undefined ? {} : { limits }),
    ...(requests === undefined ? {} : { requests }),
    ...(claims === undefined ? {} : { claims }),
  };
}

export interface RequestedChange {
  readonly resource: 'cpu' | 'memory';
  readonly requirement: 'requests' | 'limits';
  readonly operation: 'add' | 'remove' | 'increase' | 'decrease';
}

/** What a new spec asks to change, one for each amount of each container. */
export function requestedChanges(before: Pod, after: Pod): RequestedChange[] {
  const containersOf = ({ spec }: Pod) => [...(spec.initContainers ?? []), ...spec.containers];
  const old = new Map(containersOf(before).map(({ name, resources }) => [name, resources]));
  return containersOf(after).flatMap(({ name, resources }) =>
    (['memory', 'cpu'] as const).flatMap((resource) =>
      (['requests', 'limits'] as const).flatMap((requirement) => {
        const operation = operationOf(
          old.get(name)?.[requirement]?.[resource],
          resources?.[requirement]?.[resource],
        );
        return operation === undefined ? [] : [{ resource, requirement, operation }];
      }),
    ),
  );
}

function operationOf(
  before: string | undefined,
  after: string | undefined,
): RequestedChange['operation'] | undefined {
  if (before === undefined) return after === undefined ? undefined : 'add';
  if (after === undefined) return 'remove';
  const order = compareQuantities(parseQuantity(after), parseQuantity(before));
  return order === 0 ? undefined : order > 0 ? 'increase' : 'decrease';
}

/** The features of a node that a new spec needs, by the names under which nodes declare them. */
export function neededFeatures(before: Pod, after: Pod): string[] {
  const old = new Map(before.spec.initContainers?.map(({ name, resources }) => [name, resources]));
  const changesInit = after.spec.initContainers?.some(
    (container) => !isSidecar(container) && !sameRequirements(old.get(container.name), container.resources),
  );
  const changesPod = !sameRequirements(before.spec.resources, after.spec.resources);
  return [
    ...(changesPod ? ['InPlacePodLevelResourcesVerticalScaling'] : []),
    ...(changesInit === true ? ['InPlacePodVerticalScalingInitContainers'] : []),
    ...(changesMemoryVolumes(before, after) ? ['InPlacePodVerticalScalingMemoryBackedVolumes'] : []),
  ];
}

/** What a pod asks for in all, for people: `cpu 1500m, memory 1Gi`. */
export function requestsText(pod: Pod): string {
  const requests = [...podRequests(pod)].filter(([, amount]) => amount.nanos > 0n);
  if (requests.length === 0) return 'nothing';
  return requests
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, amount]) => `${name} ${formatQuantity(amount)}`)
    .join(', ');
}
