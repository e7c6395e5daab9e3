/** Gives devices: one allocation of a resource at a time, beside everything else that the node does. */
import { type Clock, errorText, Gate, isCancelled, TaskGroup } from '../../async/index.js';
import type { AnyContainer, Pod } from '../../kube/index.js';
import {
  type AllocationOutcome,
  allocated,
  positionsIn,
  type TopologyHint,
} from '../topology-manager/index.js';
import {
  chooseDevices,
  type DevicesByHint,
  type DeviceVerdict,
  judgeDemand,
  preferenceQuestion,
  splitByHint,
} from './choose-devices.js';
import { callPlugin, type DevicePlugins } from './device-plugins.js';
import type { DeviceRecorder } from './device-recorder.js';
import { type DeviceRecords, idsByNode, reusableIds } from './device-records.js';
import { deviceLimits } from './limits.js';
import type { DeviceManagerMetrics } from './metrics.js';
import { judgeAllocation, judgePreferred } from './plugin-answers.js';
import { PluginWaits } from './plugin-waits.js';

export interface DeviceAllocationsOptions {
  readonly clock: Clock;
  readonly recorder: DeviceRecorder;
  readonly metrics: DeviceManagerMetrics;
  readonly plugins: DevicePlugins;
  readonly records: DeviceRecords;
  readonly waitMs: number;
  readonly machineNodes: readonly number[];
  /** The container ran when the agent started, and not all sources of pods have spoken yet. */
  readonly ranBefore: (podUid: string, container: string) => boolean;
  /** Resolves when all records are on disk. */
  readonly write: () => Promise<void>;
}

/** A container that is to have devices of one resource. */
export interface ResourceDemand {
  readonly pod: Pod;
  readonly container: AnyContainer;
  readonly resource: string;
  readonly count: number;
  readonly hint: TopologyHint;
}

/** Devices that a container is being given. */
interface DeviceAttempt {
  readonly ended: Promise<void>;
  /** Undefined while it goes on; empty if it succeeded. */
  failure?: string;
}

export class DeviceAllocations {
  readonly #options: DeviceAllocationsOptions;
  /** By pod, container and resource. */
  readonly #attempts = new Map<string, DeviceAttempt>();
  /** A plugin is called as it is used to, and no device is chosen twice. */
  readonly #turns = new Map<string, Gate>();
  readonly #waits: PluginWaits;
  readonly #tasks: TaskGroup;

  constructor(options: DeviceAllocationsOptions) {
    this.#options = options;
    this.#waits = new PluginWaits(options);
    this.#tasks = new TaskGroup({ onError: (task, error) => options.recorder.broken(task, error) });
  }

  /** Never waits: what takes its time goes on beside, and the pod is to be judged again when it has ended. */
  allocate(demand: ResourceDemand, mayWait: boolean): AllocationOutcome {
    const { pod, container, resource } = demand;
    const key = `${pod.metadata.uid}/${container.name}/${resource}`;
    const attempt = this.#attempts.get(key);
    if (attempt !== undefined) {
      if (attempt.failure === undefined) return pending(attempt.ended, demand);
      this.#attempts.delete(key);
      if (attempt.failure !== '') return { kind: 'refused', message: attempt.failure };
    }
    const verdict = this.#judge(demand);
    switch (verdict.kind) {
      case 'has it':
        this.#waits.ended(pod, resource, 'the container has its devices');
        return allocated;
      case 'refused': {
        const until =
          verdict.isAwaited && mayWait ? this.#waits.wait(pod, container.name, resource) : undefined;
        if (until !== undefined) {
          const message = `container ${container.name} waits for the device plugin of ${resource}`;
          return { kind: 'pending', until, message };
        }
        this.#waits.ended(pod, resource, verdict.message);
        return { kind: 'refused', message: verdict.message };
      }
      case 'needs':
        this.#waits.ended(pod, resource, 'the device plugin is there');
        return pending(this.#begin(key, demand).ended, demand);
    }
  }

  #judge({ pod, container, resource, count }: ResourceDemand): DeviceVerdict {
    const { plugins, records, ranBefore } = this.#options;
    const { uid } = pod.metadata;
    const { name } = container;
    return judgeDemand(
      { podUid: uid, container: name, resource, count },
      {
        state: plugins.state(resource),
        held: records.ids(uid, name, resource),
        reusable: reusableIds(pod, container, resource, records),
        inUse: records.inUse(resource),
        ranBefore: ranBefore(uid, name),
      },
    );
  }

  #begin(key: string, demand: ResourceDemand): DeviceAttempt {
    const { pod, resource } = demand;
    let end: () => void = () => undefined;
    const attempt: DeviceAttempt = {
      ended: new Promise<void>((resolve) => {
        end = resolve;
      }),
    };
    this.#attempts.set(key, attempt);
    const turns = this.#turns.get(resource) ?? new Gate(1);
    this.#turns.set(resource, turns);
    this.#tasks.start(`devices of ${resource} for ${pod.metadata.name}`, async (signal) => {
      try {
        await turns.run(() => this.#give(demand, signal), { signal });
        attempt.failure = '';
      } catch (error) {
        if (isCancelled(error)) this.#attempts.delete(key);
        attempt.failure = errorText(error);
      } finally {
        end();
      }
    });
    return attempt;
  }

  /** Asks the plugin and records its answer; rejects with the reason of the refusal. */
  async #give(demand: ResourceDemand, signal: AbortSignal): Promise<void> {
    const { clock, metrics, plugins, records, recorder, write } = this.#options;
    const { pod, container, resource, count } = demand;
    const ids = await this.#choose(demand, signal);
    if (ids === undefined) return;
    const primary = plugins.primary(resource);
    if (primary === undefined) throw new Error(`unknown Device Plugin ${resource}`);
    const startMs = clock.monotonic();
    let judged: ReturnType<typeof judgeAllocation>;
    try {
      judged = judgeAllocation(
        await callPlugin(clock, deviceLimits.allocateMs, signal, (call) =>
          primary.client.allocate(ids, call),
        ),
      );
    } finally {
      metrics.allocationDuration.observe((clock.monotonic() - startMs) / 1000, { resource_name: resource });
    }
    if (judged.kind === 'refused') throw new Error(judged.problem);
    const byNode = idsByNode(ids, plugins.state(resource)?.table ?? new Map());
    records.set(pod.metadata.uid, container.name, resource, {
      idsByNode: byNode,
      response: judged.response,
    });
    const because = `its limit asks for ${count}, and the device plugin at ${primary.socketPath} agreed`;
    recorder.given(pod, container.name, resource, ids, because);
    await write();
  }

  /** Undefined if the container has its devices by now. */
  async #choose(demand: ResourceDemand, signal: AbortSignal): Promise<readonly string[] | undefined> {
    const { clock, plugins } = this.#options;
    const { resource, count } = demand;
    const seen = this.#needs(demand);
    if (seen === undefined) return undefined;
    const split = this.#split(seen.available, demand);
    const question = preferenceQuestion(count, seen.taken, split);
    const primary = plugins.primary(resource);
    if (question === undefined || primary?.options.getPreferredAllocationAvailable !== true) {
      return chooseDevices(count, seen.taken, split, []);
    }
    const answer = await callPlugin(clock, deviceLimits.preferredMs, signal, (call) =>
      primary.client.preferred(
        {
          availableDeviceIDs: [...question.available],
          mustIncludeDeviceIDs: [...question.mustInclude],
          allocationSize: count,
        },
        call,
      ),
    ).catch((error: unknown) => {
      if (signal.aborted) throw error;
      throw new Error(`device plugin GetPreferredAllocation rpc failed with err: ${errorText(error)}`, {
        cause: error,
      });
    });
    // Devices may have gone while the plugin was asked.
    const now = this.#needs(demand);
    if (now === undefined) return undefined;
    return chooseDevices(count, now.taken, this.#split(now.available, demand), judgePreferred(answer));
  }

  #needs(demand: ResourceDemand): (DeviceVerdict & { readonly kind: 'needs' }) | undefined {
    const verdict = this.#judge(demand);
    if (verdict.kind === 'refused') throw new Error(verdict.message);
    return verdict.kind === 'needs' ? verdict : undefined;
  }

  #split(available: readonly string[], { resource, hint }: ResourceDemand): DevicesByHint {
    const { machineNodes, plugins } = this.#options;
    const nodes =
      hint.mask === undefined
        ? undefined
        : new Set(positionsIn(hint.mask).flatMap((position) => machineNodes[position] ?? []));
    return splitByHint(available, plugins.state(resource)?.table ?? new Map(), nodes);
  }

  /** Wakes the pods that wait for a plugin of the resource. */
  changed(resource: string): void {
    this.#waits.changed(resource);
  }

  /** Forgets what became of other pods. */
  keepOnly(isKept: (podUid: string) => boolean): void {
    for (const [key, { failure }] of this.#attempts) {
      if (failure !== undefined && !isKept(key.slice(0, key.indexOf('/')))) this.#attempts.delete(key);
    }
    this.#waits.keepOnly(isKept);
  }

  async stop(): Promise<void> {
    this.#waits.stop();
    await this.#tasks.stop();
  }
}

function pending(until: Promise<void>, { container, resource }: ResourceDemand): AllocationOutcome {
  return { kind: 'pending', until, message: `container ${container.name} is being given ${resource}` };
}
