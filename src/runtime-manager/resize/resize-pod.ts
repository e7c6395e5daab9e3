/** Resizes running containers: memory first, then CPU; decreases before increases. */
import { errorText, throwIfCancelled } from '../../async/index.js';
import type { CriRuntime } from '../../cri/index.js';
import {
  type AnyContainer,
  findPodContainer,
  formatPod,
  type Pod,
  type ResourceRequirements,
} from '../../kube/index.js';
import { podRef } from '../../timeline/index.js';
import type { SyncPorts, SyncRun } from '../apply.js';
import { SyncFailure } from '../contracts.js';
import type { PlannedResize, PlannedUpdate } from '../plan/pod-plan.js';
import type { ActuatedResources } from './actuated-resources.js';
import { type ResizedResource, resizedResources, wantedResources } from './decide-resize.js';

/** A failure ends the resize; completed steps stay, and a later sync goes on after the back-off. */
export async function resizePod(
  ports: SyncPorts,
  run: SyncRun,
  resize: PlannedResize,
  actuated: ActuatedResources,
): Promise<void> {
  const { pod, signal } = run;
  const { clock, timeline, metrics } = ports;
  const startedMs = clock.monotonic();
  const step = { action: 'ResizePodInPlace', target: formatPod(pod) } as const;
  const done = (failed: boolean): void =>
    metrics.resizeDurationMs.observe(clock.monotonic() - startedMs, { success: String(!failed) });
  const uid = pod.metadata.uid;
  const waiting = ports.resizeRetries.waiting(pod, clock.now());
  if (waiting !== undefined) {
    const { message, untilMs } = waiting;
    const failure = new SyncFailure('ResizePodInPlaceError', message, { backOffUntilMs: untilMs });
    run.steps.push({ ...step, failure });
    return;
  }
  let isChanged = false;
  try {
    const isMemoryChanged = resize.memory.length > 0 || resize.podResources;
    const podProblem = isMemoryChanged ? ports.podCgroups?.memoryProblem(pod) : undefined;
    await checkMemoryDecrease(ports.cri, resize.memory, podProblem, signal);
    isChanged = true;
    for (const resource of resizedResources) await resizeResource(ports, run, resize, resource, actuated);
    run.steps.push(step);
    ports.resizeRetries.forget(uid);
    done(false);
  } catch (error) {
    throwIfCancelled(signal);
    done(true);
    const message = errorText(error);
    const backOffUntilMs = ports.resizeRetries.failed(pod, clock.now(), message);
    const failure = new SyncFailure('ResizePodInPlaceError', message, { cause: error, backOffUntilMs });
    run.steps.push({ ...step, failure });
    timeline.record({
      kind: 'problem',
      what: 'pod.resize',
      message: 'The resources of the pod could not be changed',
      pod: podRef(pod),
      level: 'warn',
      data: { nextTryMs: backOffUntilMs },
      error,
    });
  } finally {
    // A resize changes no state, so the pod must be reinspected; not if nothing was changed.
    if (isChanged) ports.reinspect?.(uid);
  }
}

async function resizeResource(
  ports: SyncPorts,
  run: SyncRun,
  resize: PlannedResize,
  resource: ResizedResource,
  actuated: ActuatedResources,
): Promise<void> {
  const { pod, plan, signal } = run;
  const updates = resize[resource];
  if (updates.length === 0 && !resize.podResources && !resize.podLevel) return;
  const tellSandbox = async (): Promise<void> => {
    const { resources, overhead } = ports.configs.podResources(pod);
    await ports.cri.updatePodSandboxResources(
      { podSandboxId: plan.sandboxId, resources, overhead },
      { signal },
    );
  };
  // A sandbox must never be smaller than its containers.
  const shrinks = updates.length > 0 && updates.every(({ decreases }) => decreases);
  if (!shrinks) await tellSandbox();
  await ports.podCgroups?.resize(pod, resource, 'up');
  for (const update of updates) await updateContainer(ports, run, resource, update, actuated);
  if (shrinks) await tellSandbox();
  await ports.podCgroups?.resize(pod, resource, 'down');
  if (resize.podLevel) actuated.setPod(pod.metadata.uid, pod.spec.resources ?? {});
}

async function updateContainer(
  ports: SyncPorts,
  { pod, signal }: SyncRun,
  resource: ResizedResource,
  { id, name, because }: PlannedUpdate,
  actuated: ActuatedResources,
): Promise<void> {
  const { cri, configs, timeline, clock } = ports;
  const found = findPodContainer(pod, name);
  if (found === undefined) throw new Error(`pod ${formatPod(pod)} has no container ${name}`);
  const current = actuated.requirements(pod.metadata.uid, name);
  const resources = withResource(current, wantedResources(pod, found.container), resource);
  const container: AnyContainer = { ...found.container, resources };
  const startedMs = clock.monotonic();
  await cri.updateContainerResources(
    { containerId: id, linux: configs.containerResources(withContainer(pod, container), container) },
    { signal },
  );
  actuated.setContainer(pod.metadata.uid, name, resources);
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
}

/** One resource at its new value, the other unchanged. */
function withResource(
  current: ResourceRequirements,
  wanted: ResourceRequirements,
  resource: ResizedResource,
): ResourceRequirements {
  const pick = (list: 'requests' | 'limits'): Record<string, string> => {
    const mixed: Record<string, string> = {};
    for (const name of resizedResources) {
      const value = (name === resource ? wanted : current)[list]?.[name];
      if (value !== undefined) mixed[name] = value;
    }
    return mixed;
  };
  return { requests: pick('requests'), limits: pick('limits') };
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

/** A limit below current usage would get the container killed. */
async function checkMemoryDecrease(
  cri: Pick<CriRuntime, 'containerStats'>,
  updates: readonly PlannedUpdate[],
  podProblem: string | undefined,
  signal: AbortSignal | undefined,
): Promise<void> {
  const problems = podProblem === undefined ? [] : [podProblem];
  for (const { id, name, memoryLimit } of updates) {
    const { from, to } = memoryLimit;
    if (to === 0 || (from !== 0 && to >= from)) continue;
    const { stats } = await cri.containerStats({ containerId: id }, { signal });
    const used = stats?.memory?.usageBytes?.value ?? stats?.memory?.workingSetBytes?.value;
    if (used === undefined) problems.push(`missing container "${name}" memory usage`);
    else if (Number(used) >= to) {
      problems.push(
        `attempting to set container "${name}" memory limit (${to}) below current usage (${used})`,
      );
    }
  }
  if (problems.length > 0) throw new Error(`cannot decrease memory limits: ${problems.join(', ')}`);
}
