/** Gives a running container one new resource, the other as it last accepted it. */
import {
  type AnyContainer,
  findPodContainer,
  formatPod,
  type Pod,
  type ResourceList,
  type ResourceRequirements,
} from '../../kube/index.js';
import { podRef } from '../../timeline/index.js';
import type { SyncPorts, SyncRun } from '../apply.js';
import type { PlannedUpdate } from '../plan/pod-plan.js';
import type { ActuatedResources } from './actuated-resources.js';
import { mixedResources, type ResizedResource, wantedResources } from './decide-resize.js';

/** Returns what the container has accepted. */
export async function updateContainer(
  ports: SyncPorts,
  { pod, signal }: SyncRun,
  resource: ResizedResource,
  { id, name, because }: PlannedUpdate,
  actuated: ActuatedResources,
): Promise<ResourceRequirements> {
  const { cri, configs, timeline, clock } = ports;
  const found = findPodContainer(pod, name);
  if (found === undefined) throw new Error(`pod ${formatPod(pod)} has no container ${name}`);
  const current = actuated.requirements(pod.metadata.uid, name);
  const accepted = mixedResources(current, wantedResources(pod, found.container), resource);
  const container: AnyContainer = { ...found.container, resources: withOthers(found.container, accepted) };
  const startedMs = clock.monotonic();
  await cri.updateContainerResources(
    { containerId: id, linux: configs.containerResources(withContainer(pod, container), container) },
    { signal },
  );
  timeline.record({
    kind: 'effect',
    what: 'container.resize',
    message: `Changed the ${resource} of container ${name}`,
    because,
    pod: podRef(pod),
    container: name,
    durationMs: clock.monotonic() - startedMs,
    data: { containerId: id },
  });
  return accepted;
}

/** A container keeps its huge pages and all else that no resize changes. */
function withOthers({ resources }: AnyContainer, accepted: ResourceRequirements): ResourceRequirements {
  const merged = (list: 'requests' | 'limits'): ResourceList => {
    const { cpu: _cpu, memory: _memory, ...others } = resources?.[list] ?? {};
    return { ...others, ...accepted[list] };
  };
  return { ...resources, requests: merged('requests'), limits: merged('limits') };
}

function withContainer(pod: Pod, container: AnyContainer): Pod {
  const replace = <C extends AnyContainer>(list: readonly C[]): C[] =>
    list.map((one) => (one.name === container.name ? { ...one, resources: container.resources } : one));
  const { initContainers, containers } = pod.spec;
  return {
    ...pod,
    spec: {
      ...pod.spec,
      containers: replace(containers),
      ...(initContainers === undefined ? {} : { initContainers: replace(initContainers) }),
    },
  };
}
