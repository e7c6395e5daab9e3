/**
 * Resizes a running pod: memory first, then CPU; the pod's cgroup before containers that grow and after those that shrink.
 * Volumes in memory shrink before the memory does, and grow after it.
 */
import { errorText, throwIfCancelled } from '../../async/index.js';
import { formatPod, goQuote, type ResourceRequirements } from '../../kube/index.js';
import { podRef } from '../../timeline/index.js';
import type { SyncPorts, SyncRun } from '../apply.js';
import { SyncFailure } from '../contracts.js';
import type { PlannedResize, PlannedUpdate } from '../plan/pod-plan.js';
import type { ActuatedResources } from './actuated-resources.js';
import type { ResizedResource } from './decide-resize.js';
import { isContainerDecrease, isPodDecrease, memoryProblem } from './memory-safety.js';
import { boundMoves } from './pod-bound-order.js';
import { ResizedPodCgroup } from './resize-pod-cgroup.js';
import { resizeVolumes } from './resize-volumes.js';
import { tellSandbox } from './tell-sandbox.js';
import { updateContainer } from './update-container.js';

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
  let cgroup: ResizedPodCgroup | undefined;
  try {
    cgroup = await prepare(ports, run, resize);
    isChanged = true;
    const volumes = resize.volumes ?? [];
    await resizeVolumes(
      ports,
      run,
      volumes.filter(({ decreases }) => decreases),
      actuated,
    );
    await resizeResource(ports, run, resize, 'memory', cgroup, actuated);
    await resizeVolumes(
      ports,
      run,
      volumes.filter(({ decreases }) => !decreases),
      actuated,
    );
    await resizeResource(ports, run, resize, 'cpu', cgroup, actuated);
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
    await cgroup?.settle();
    // A resize changes no state, so the pod must be reinspected; not if nothing was changed. The end of the sync has the pod
    // relisted, and whoever looks sooner looks twice; only a sync that is cut off may end without that.
    if (isChanged) ports.reinspect?.(uid, signal?.aborted === true ? 'now' : 'next');
  }
}

/** Reads the pod's cgroup and makes sure that no memory limit falls below what is used. Changes nothing. */
async function prepare(
  ports: SyncPorts,
  run: SyncRun,
  resize: PlannedResize,
): Promise<ResizedPodCgroup | undefined> {
  const { pod } = run;
  const { podCgroups } = ports;
  const isMemoryInvolved = resize.memory.length > 0 || resize.podResources;
  let usageBytes: number | undefined;
  let cgroup: ResizedPodCgroup | undefined;
  if (podCgroups !== undefined) {
    try {
      const { memoryUsageBytes, ...current } = podCgroups.read(pod);
      usageBytes = memoryUsageBytes;
      cgroup = new ResizedPodCgroup(ports, run, podCgroups, current);
    } catch (cause) {
      const what = isMemoryInvolved || resize.podLevel ? 'memory' : 'cpu';
      const message = `unable to get pod cgroup ${what} config for pod ${goQuote(formatPod(pod))}`;
      throw new Error(message, { cause });
    }
  }
  // A change of the pod level alone is the user's own risk: no container is told anything.
  if (isMemoryInvolved) await checkMemory(ports, run, resize.memory, cgroup, usageBytes);
  return cgroup;
}

async function checkMemory(
  { cri }: SyncPorts,
  { pod, signal }: SyncRun,
  updates: readonly PlannedUpdate[],
  cgroup: ResizedPodCgroup | undefined,
  podUsageBytes: number | undefined,
): Promise<void> {
  const podLimit = { from: cgroup?.current.memoryLimitBytes ?? -1, to: cgroup?.wanted.memoryLimitBytes ?? 0 };
  const falling = updates.filter(({ memoryLimit }) => isContainerDecrease(memoryLimit));
  const containers = await Promise.all(
    falling.map(async ({ id, name, memoryLimit }) => {
      try {
        const { stats } = await cri.containerStats({ containerId: id }, { signal });
        const used = stats?.memory?.usageBytes?.value ?? stats?.memory?.workingSetBytes?.value;
        return { name, ...memoryLimit, usageBytes: used === undefined ? undefined : Number(used) };
      } catch (cause) {
        throwIfCancelled(signal);
        throw new Error(`unable to read memory usage for pod ${goQuote(formatPod(pod))}`, { cause });
      }
    }),
  );
  const problem = memoryProblem({
    ...(isPodDecrease(podLimit) ? { pod: { ...podLimit, usageBytes: podUsageBytes } } : {}),
    containers,
  });
  if (problem !== undefined) throw new Error(problem);
}

async function resizeResource(
  ports: SyncPorts,
  run: SyncRun,
  resize: PlannedResize,
  resource: ResizedResource,
  cgroup: ResizedPodCgroup | undefined,
  actuated: ActuatedResources,
): Promise<void> {
  const updates = resize[resource];
  if (updates.length === 0 && !resize.podResources && !resize.podLevel) return;
  if (cgroup === undefined) await withoutPodCgroup(ports, run, updates, resource, actuated);
  else {
    const { before, after } = boundMoves(resource, cgroup.current, cgroup.wanted);
    const isIgnored = ports.sandboxUpdates.isIgnored;
    for (const bound of before) await cgroup.move(resource, bound);
    const updating = updateContainers(ports, run, updates, resource, actuated, after.length > 0);
    const telling = isIgnored ? cgroup.tellBeside(resource, [...before, ...after]) : undefined;
    const record = await updating.finally(() => telling);
    for (const bound of after) await cgroup.move(resource, bound);
    record();
  }
  if (resize.podLevel) actuated.setPodResource(run.pod.metadata.uid, run.pod.spec.resources ?? {}, resource);
}

/** The runtime alone bounds the pod: its sandbox must never be smaller than its containers. */
async function withoutPodCgroup(
  ports: SyncPorts,
  run: SyncRun,
  updates: readonly PlannedUpdate[],
  resource: ResizedResource,
  actuated: ActuatedResources,
): Promise<void> {
  const shrinks = updates.length > 0 && updates.every(({ decreases }) => decreases);
  if (!shrinks) await tellSandbox(ports, run, resource);
  const record = await updateContainers(ports, run, updates, resource, actuated, shrinks);
  if (shrinks) await tellSandbox(ports, run, resource);
  record();
}

/**
 * Returns what records the updates. Where the pod is to follow its containers, the records wait for it: after a crash or a
 * failure in between, the next run finds the containers to be resized, and the pod with them.
 */
async function updateContainers(
  ports: SyncPorts,
  run: SyncRun,
  updates: readonly PlannedUpdate[],
  resource: ResizedResource,
  actuated: ActuatedResources,
  podFollows: boolean,
): Promise<() => void> {
  const { uid } = run.pod.metadata;
  const accepted = new Map<string, ResourceRequirements>();
  const record = (): void => {
    for (const [name, resources] of accepted) actuated.setAccepted(uid, name, resources);
    accepted.clear();
  };
  for (const update of updates) {
    accepted.set(update.name, await updateContainer(ports, run, resource, update, actuated));
    if (!podFollows) record();
  }
  return record;
}
