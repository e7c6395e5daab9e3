/** Tells of device plugins and of who is given which devices: on the timeline and in events. */
import { BoundedMap, errorText } from '../../async/index.js';
import type { Pod } from '../../kube/index.js';
import { podRef, type Timeline } from '../../timeline/index.js';
import type { DeviceHolder } from './device-records.js';
import { idsOf } from './device-records.js';
import { deviceLimits } from './limits.js';
import type { ResourceState } from './resource-state.js';

export class DeviceRecorder {
  readonly #timeline: Timeline;
  /** The last figures of each resource: a report that changes none of them is told quietly. */
  readonly #told = new BoundedMap<string, string>({ maxEntries: deviceLimits.resources });

  constructor(timeline: Timeline) {
    this.#timeline = timeline;
  }

  connected(resource: string, socket: string): void {
    this.#timeline.record({
      kind: 'effect',
      what: 'device.plugin',
      message: `the device plugin of ${resource} at ${socket} is connected`,
      because: 'it registered itself',
      data: { resource, socket, connected: true },
    });
  }

  refused(resource: string, socket: string, error: unknown): void {
    this.#timeline.record({
      kind: 'problem',
      what: 'device.plugin',
      level: 'warn',
      message: `the device plugin of ${JSON.stringify(resource.slice(0, 100))} at ${socket.slice(0, 200)} is not taken`,
      error,
      data: { resource: resource.slice(0, 100), socket: socket.slice(0, 200), connected: false },
    });
  }

  disconnected(resource: string, socket: string, because: string, isLast: boolean): void {
    this.#timeline.record({
      kind: 'notice',
      what: 'device.plugin',
      level: 'warn',
      message: isLast
        ? `the device plugin of ${resource} at ${socket} has gone; none of its devices can be given out`
        : `the device plugin of ${resource} at ${socket} has gone; another one serves the resource`,
      because,
      data: { resource, socket, connected: false },
    });
  }

  reported(resource: string, socket: string, { healthy, unhealthy }: ResourceState): void {
    const figures = `${healthy.size} healthy, ${unhealthy.size} unhealthy`;
    const isNews = this.#told.get(resource) !== figures;
    this.#told.set(resource, figures);
    this.#timeline.record({
      kind: 'notice',
      what: 'device.report',
      level: isNews ? 'info' : 'debug',
      message: `${resource}: ${figures} devices`,
      because: `the device plugin at ${socket} said so`,
      data: { resource, healthy: healthy.size, unhealthy: unhealthy.size },
    });
  }

  expired(resource: string): void {
    this.#told.delete(resource);
    this.#timeline.record({
      kind: 'notice',
      what: 'device.plugin',
      level: 'warn',
      message: `${resource} is no longer counted`,
      because: `its device plugin has been gone for ${deviceLimits.graceMs / 60_000} minutes`,
      data: { resource, socket: '', connected: false },
    });
  }

  given(pod: Pod, container: string, resource: string, ids: readonly string[], because: string): void {
    this.#timeline.record({
      kind: 'effect',
      what: 'device.allocate',
      message: `container ${container} was given ${resource} ${ids.join(', ')}`,
      because,
      pod: podRef(pod),
      container,
      data: { resource, ids: ids.join(',') },
    });
  }

  freed({ podUid, container, resource, record }: DeviceHolder): void {
    const ids = [...idsOf(record)].join(',');
    this.#timeline.record({
      kind: 'effect',
      what: 'device.release',
      level: 'debug',
      message: `${resource} ${ids} of container ${container} can be given out again`,
      because: `pod ${podUid} is no longer active`,
      data: { resource, ids },
    });
  }

  waits(pod: Pod, container: string, resource: string, waitMs: number): void {
    const message = `container ${container} waits for the device plugin of ${resource}, which has not registered yet, for ${Math.round(waitMs / 1000)}s at most`;
    this.#timeline.event(podRef(pod), 'Normal', 'WaitingForDevicePlugin', message);
    this.#timeline.record({
      kind: 'decision',
      what: 'device.wait',
      message,
      because: 'the node knows the resource from before, and nobody offers its devices now',
      pod: podRef(pod),
      container,
      data: { resource, waitMs },
    });
  }

  waitEnded(pod: Pod, resource: string, because: string): void {
    this.#timeline.record({
      kind: 'decision',
      what: 'device.waited',
      message: `the wait for the device plugin of ${resource} is over`,
      because,
      pod: podRef(pod),
      data: { resource },
    });
  }

  checkpointLost(reason: string): void {
    this.#timeline.record({
      kind: 'problem',
      what: 'device.recover',
      level: 'warn',
      message: 'Continue after failing to read checkpoint file. Device allocation info may NOT be up-to-date',
      because: reason,
    });
  }

  broken(task: string, error: unknown): void {
    this.#timeline.record({
      kind: 'problem',
      what: 'kubelet.task',
      message: `${task} failed: ${errorText(error)}`,
      error,
    });
  }
}
