/** The entries about what the container runtime holds: sandboxes, containers, images, logs, and the watch over them. */
import type { NoData } from './entry-data.js';
import type { ContainerStateName } from './pod-entries.js';

export interface RuntimeEntries {
  /** The configuration of a sandbox was put together. */
  'sandbox.config': { hostNetwork: boolean; nameservers: string };
  /** A sandbox was created, or not, as the pod is being terminated: then without data. */
  'sandbox.create': { sandboxId: string; attempt: number; waitedMs: number } | NoData;
  /** The sandbox could not be reported as ready. */
  'sandbox.ready': NoData;
  /** The sandbox ended while a container was about to start in it. */
  'sandbox.lost': { sandboxId: string; fault?: string };
  /** A sandbox was stopped, or could not be. */
  'sandbox.stop': { sandboxId: string };
  /** A sandbox was removed, or could not be. */
  'sandbox.remove': { sandboxId: string };
  /** A sandbox could not be told of a resize of its pod, or that it was taken back. */
  'sandbox.resize': { sandboxId: string };

  /** The state of a container has changed; `reason` and `exitCode` are those of the new state. */
  'container.state': {
    from: ContainerStateName;
    to: ContainerStateName;
    reason?: string;
    exitCode?: number;
    restartCount: number;
  };
  /** The configuration of a container was put together. */
  'container.config': { variables: number; mounts: number; volumeMounts: number };
  /** A container was started, or could not be: then without data. */
  'container.start': { containerId: string; attempt: number; waitedMs: number } | NoData;
  /** A container is not started before its back-off ends. */
  'container.wait': { waitMs: number };
  /** The postStart hook of a container ran. */
  'container.postStart': NoData;
  /** The preStop hook of a container ran, or failed. */
  'container.preStop': NoData;
  /** What was assigned to a stopped container could not be given back. */
  'container.postStop': { containerId: string };
  /** A container was stopped, or could not be. */
  'container.stop': {
    containerId: string;
    graceSeconds: number;
    graceFrom: 'override' | 'deletion' | 'probe' | 'pod' | 'minimum';
    timeoutSeconds: number;
  };
  /** The resources of a container were changed. */
  'container.resize': { containerId: string };
  /** A container was removed, or could not be. */
  'container.remove': { containerId: string };
  /** A container whose sandbox ended during its start could not be removed. */
  'container.discard': { containerId: string };
  /** The kernel killed a process of a container for want of memory; `more` counts further kills within seconds. */
  'container.oom': {
    process: string;
    pid: number;
    cgroup: string;
    limit: 'container' | 'parent' | 'node';
    more: number;
    usageBytes?: number;
    limitBytes?: number;
  };
  /** There is no file for the termination message of a container. */
  'container.termination-log': NoData;

  /** An image on the machine is used. */
  'image.use': { image: string };
  /** An image is pulled. */
  'image.pull': { image: string };
  /** An image was pulled; the duration includes the wait for other pulls. */
  'image.pulled': { image: string; bytes: number };
  /** How far a pull is that takes long; without numbers where the runtime does not tell. */
  'image.progress': { image: string; doneBytes?: number; totalBytes?: number; bytesPerSecond?: number };
  /** An image is not on the machine and may not be pulled. */
  'image.refuse': { image: string };
  /** An image was removed, or could not be. */
  'image.remove': { image: string; bytes: number };
  /** The records of image pulls cannot be read or written. */
  'image.records': NoData;
  /** The images on the machine cannot be listed. */
  'images.list': NoData;
  /** Images are removed to make room; without data where that failed. */
  'images.collect': { wantedBytes: number; usedPercent: number } | NoData;
  /** An image pull secret cannot be read. */
  'credentials.secret': NoData;
  /** A credential provider plugin gave nothing: it failed, or is not for the pod. */
  'credentials.plugin': { plugin: string };
  /** A file of registry passwords is not used. */
  'credentials.file': NoData;

  /** Container logs are polled, as they cannot be watched. */
  'logs.follow': NoData;
  /** A rotated log is damaged; a request for it got the lines before the damage. */
  'logs.read': { containerId: string };
  /** The log of a container was rotated, or could not be; without data where it is about all logs. */
  'logs.rotate': { containerId: string } | NoData;
  /** A log could not be removed. */
  'logs.remove': NoData;

  /** The runtime is ready, or is not. */
  'runtime.state': { ready: boolean };
  /** A problem of a runtime that `nodelet run` brings along. */
  'runtime.problem': NoData;
  /** The runtime reserves a name for something that it does not have. */
  'runtime.name': { attempt: number; fault?: string };
  /** The runtime has a known fault, and the agent did something about it; `fault` is its name in `docs/runtime-faults.md`. */
  'runtime.fault': { fault: string };
  /** A defect in the runtime manager. */
  'runtime.task': NoData;
  /** A defect in the PLEG. */
  pleg: NoData;
  /** The runtime's pods cannot be listed, or can be again; with data where it is about one pod. */
  'pleg.relist': { podUid: string } | NoData;
  /** The known parts of a pod cannot be read; the pod is listed instead. */
  'pleg.readById': { podUid: string };
  /** A defect in inspecting pods. */
  'pleg.inspect': NoData;
  /** The stream of runtime events stands, broke off or is not offered. */
  'pleg.events': { fault?: string } | NoData;
}
