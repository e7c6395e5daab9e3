/** The entries about pods: their workers, statuses, probes, mirrors, volumes and where they come from. */
import type { NoData } from './entry-data.js';
import type { PlanStep } from './plan-actions.js';

/** The state of a container, as its status has it. */
export type ContainerStateName = 'none' | 'waiting' | 'running' | 'terminated';

/** What becomes of the sandbox that the pod has. */
type SandboxPlan = 'keep' | 'create' | 'stop';

/** A step that the volume of a driver goes through; before `report` and `attach` the cluster must do something, at its `turn` it waits for another pod. */
export type VolumeStep = 'report' | 'attach' | 'turn' | 'stage' | 'publish' | 'unpublish' | 'unstage';

type RecordedProbeResult = 'success' | 'failure' | 'unknown';

export interface PodEntries {
  /** A source has shown the pod; the duration is how long it waited to be looked at. */
  'pod.seen': { source: string };
  /** The pod was admitted. */
  'pod.admit': NoData;
  /** What a change of followed manifests means for the pod; a replaced pod and the one that follows it are both told. */
  'pod.manifest': { change: 'started' | 'updated' | 'replaced' | 'ended' };
  /** A static pod that was refused was judged again. */
  'pod.retry': { admitted: boolean };
  /** The pod is neither admitted nor refused yet: the device plugin of a resource has not registered. */
  'device.wait': { resource: string; waitMs: number };
  /** The pod does not wait for the device plugin any more. */
  'device.waited': { resource: string };
  /** The pod was given resources, at its admission or by a resize: then `before` is what it had. */
  'pod.allocated': { given: string; before?: string };
  /** What the pod asks for was accepted, but could not be recorded. */
  'pod.allocate': NoData;
  /** The resize of the pod waits, or is impossible here; `cause` is the reason of whoever refused it. */
  'pod.resizeWaits': { reason: 'Deferred' | 'Infeasible'; cause: string; asked: string; given: string };
  /** The resize of the pod does not wait any more. */
  'pod.resizeSettled': { resolution: 'accepted' | 'reverted' | 'terminated' };
  /** The pod is not configured any more, but is not stopped until all sources are ready. */
  'pod.remove': NoData;
  /** The pod waits for another static pod of its name. */
  'pod.wait': NoData;
  /** What this sync of the pod does; `more` counts the steps beyond the 32 listed. Older agents wrote no data. */
  'pod.plan': { sandbox: SandboxPlan; attempt: number; steps: readonly PlanStep[]; more: number } | NoData;
  /** The phase of the pod has changed. */
  'pod.phase': { from: string; to: string };
  /** The Ready condition of the pod has changed: `True`, `False` or `Unknown`, and `none` before the first. */
  'pod.ready': { from: string; to: string };
  /** The pod is being stopped; without data where nobody asked for it. */
  'pod.terminating': { graceSeconds: number } | NoData;
  /** The grace period was shortened. */
  'pod.grace': { graceSeconds: number };
  /** All containers of the pod have stopped. */
  'pod.terminated': NoData;
  /** The worker of the pod has nothing more to do. */
  'pod.finished': NoData;
  /** The pod is evicted for a signal of the node, or for a limit of local storage. */
  'pod.evicted': { signal: string; graceSeconds: number };
  /** The pod is ended to make room for a critical one. */
  'pod.preempted': { by: string };
  /** A pod whose cgroup is gone could not be killed. */
  'pod.kill': NoData;
  /** A pod that no source has is stopped. After a start, new pods wait for it, at most 30 s. */
  'pod.orphan': NoData;
  /** The pod was deleted from the API. */
  'pod.delete': NoData;
  /** The resources of the pod could not be changed. */
  'pod.resize': { nextTryMs: number };
  /** The user IDs of a pod from an earlier run cannot be read. */
  'pod.userns': { podUid: string };

  /** Syncing the pod failed, or was cancelled: then without data. */
  'worker.sync': { nextTryMs: number } | NoData;
  /** Stopping the pod failed, or was cancelled: then without data. */
  'worker.terminating': { nextTryMs: number } | NoData;
  /** Cleaning up after the pod failed, or was cancelled: then without data. */
  'worker.terminated': { nextTryMs: number } | NoData;
  /** A step that failed before has succeeded. */
  'worker.recovered': NoData;
  /** An update has no effect on the pod. */
  'worker.ignore': NoData;
  /** A defect in a worker. */
  'worker.crash': NoData;

  /** The result of the liveness probe has changed. */
  'probe.liveness': { from: RecordedProbeResult | 'none'; to: RecordedProbeResult; containerId: string };
  /** The result of the readiness probe has changed. */
  'probe.readiness': { from: RecordedProbeResult | 'none'; to: RecordedProbeResult; containerId: string };
  /** The result of the startup probe has changed. */
  'probe.startup': { from: RecordedProbeResult | 'none'; to: RecordedProbeResult; containerId: string };
  /** A probe failed by a delay of the agent and does not count. */
  'probe.late': { tookMs: number; busyMs: number };
  /** A probe broke; it is tried again. */
  'probe.crash': NoData;
  /** A defect in the prober. */
  'probe.task': NoData;

  /** A status that contradicts an earlier one was discarded. */
  'status.discard': NoData;
  /** The pod could not be observed after its sync failed. */
  'status.read': NoData;
  /** The status was not written: the API has no such pod. */
  'status.gone': NoData;
  /** The status was dropped: the API has another pod under the name. */
  'status.drop': NoData;
  /** The API refused the status of the pod. */
  'status.refused': NoData;
  /** Statuses cannot be written to the API. */
  'status.unreachable': NoData;
  /** Statuses are written to the API again. */
  'status.reachable': NoData;
  /** The API went back to an older state. */
  'status.went-back': NoData;
  /** A defect in writing statuses. */
  'status.sync': NoData;

  /** A mirror of a static pod was created, or could not be. */
  'mirror.create': NoData;
  /** No mirror is created now. */
  'mirror.skip': NoData;
  /** A mirror was deleted, or could not be. */
  'mirror.delete': NoData;

  /** A manifest cannot be used, or can be again. */
  manifest: NoData;
  /** What a manifest that is fine means for its pod. */
  'manifest.notice': NoData;
  /** Parts of a manifest are ignored. */
  'manifest.ignored': NoData;
  /** The URL of manifests does not answer, or does again. */
  'manifest.url': { failures: number };
  /** The pods cannot be read from the API, or can be again. */
  'pods.api': NoData;
  /** Parts of the pods of the API are ignored. */
  'pods.api.ignored': NoData;

  /** A file of objects cannot be used, or can be again. */
  objects: NoData;
  /** Parts of a file of objects are ignored. */
  'objects.ignored': NoData;
  /** A file of objects was read. */
  'objects.read': NoData;
  /** Objects that pods use cannot be read from the API. */
  'objects.watch': NoData;

  /** Events are not written to the API any more. */
  'events.lose': NoData;
  /** Events are written to the API again. */
  'events.resume': { lost: number };
  /** The API refused an event. */
  'events.refused': { reason: string };

  /** A volume was mounted or refreshed, or could not be. */
  'volume.mount': { plugin: string; volume: string };
  /** A volume was unmounted, or could not be. */
  'volume.unmount': { plugin: string; volume: string };
  /** The device of a volume was unmounted, or could not be. */
  'volume.unmountDevice': { plugin: string; volume: string };
  /** A volume was expanded, or could not be. */
  'volume.expand': { plugin: string; volume: string };
  /** The size of a volume in memory was changed with the resources of its pod. */
  'volume.resize': { volume: string; sizeBytes: number };
  /** A pod got the device of a block volume, or could not. */
  'volume.map': { plugin: string; volume: string };
  /** The device of a block volume was taken from a pod, or could not be. */
  'volume.unmap': { plugin: string; volume: string };
  /** The device of a block volume was released, or could not be. */
  'volume.unmapDevice': { plugin: string; volume: string };
  /** A volume waits for a step of its driver, or the step failed. */
  'volume.wait': {
    volume: string;
    name: string;
    driver: string;
    step: VolumeStep;
    sinceMs: number;
    nextTryMs?: number;
  };
  /** A certificate of a pod was requested or issued, or its request could not be made or was deleted. */
  'volume.certificate': { volume: string; signer: string };
  /** The volumes of the pod are refreshed. */
  'volume.refresh': NoData;
  /** Mounts below the root directory are shared, or could not be. */
  'volume.share': NoData;
  /** Volumes cannot be mounted with SELinux labels, as the machine does not tell what these are made of. */
  'volume.selinux': NoData;
  /** Volumes of an earlier run were found, or their directory cannot be read: then without data. */
  'volume.reconstruct': { volumes: number; devices: number; unknown: number } | NoData;
  /** What an earlier run left of a volume was removed, or could not be. */
  'volume.leftover': NoData;
  /** A subPath cannot be used. */
  'volume.subPath': NoData;
  /** A defect in the volume manager. */
  'volume.task': NoData;
}
