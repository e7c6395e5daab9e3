/** Dynamic resources of a node: has drivers prepare the claims of pods, and gives them back when the pods have ended. */
import { join } from 'node:path';
import { type Clock, errorText, isCancelled, sleep } from '../../async/index.js';
import { type DurableFiles, DurableState } from '../../host/index.js';
import type { AnyContainer, Pod, ResourceStatus } from '../../kube/index.js';
import type { Timeline } from '../../timeline/index.js';
import { formatDraCheckpoint, parseDraCheckpoint } from './checkpoint.js';
import { type CachedClaim, ClaimCache } from './claim-cache.js';
import type { ClaimRecord, DraApi, OpenDriver } from './contracts.js';
import { cdiDevicesOf } from './devices.js';
import { DriverCalls, untilAborted } from './driver-calls.js';
import { DraDrivers, type DriverEndpoint } from './drivers.js';
import { claimHealth } from './health-status.js';
import { DeviceHealthWatch } from './health-watch.js';
import type { ClaimRules } from './judge-claim.js';
import type { DraMetrics } from './metrics.js';
import { claimsOfContainer, usesClaims } from './pod-claims.js';
import { type ClaimPorts, DriverFailure, preparePod } from './prepare-pod.js';
import { ResourceSlices } from './resource-slices.js';
import { Unpreparations } from './unpreparations.js';
import { adoptClaims } from './unprepare-pod.js';

export interface DraManagerOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly nodeName: string;
  readonly random: () => number;
  readonly metrics: DraMetrics;
  readonly open: OpenDriver;
  /** Absent on a node without a cluster. */
  readonly api: DraApi | undefined;
  readonly rules: ClaimRules;
  /** Absent: nothing survives a restart. */
  readonly checkpoint?: { readonly rootDir: string; readonly store: DurableFiles } | undefined;
  /** The gates ResourceHealthStatus and ResourceHealthStatusMessage. */
  readonly health: { readonly isShown: boolean; readonly showsMessages: boolean };
  /** Whether it is known which pods there are. */
  readonly allSourcesReady: () => boolean;
  /** Whether a pod may still use what it was given. */
  readonly mayUse: (podUid: string) => boolean;
  /** Those of the node that may use resources. */
  readonly pods: () => readonly Pod[];
  /** Syncs pods whose drivers are there now, or whose devices' health has changed. */
  readonly sync: (podUids: readonly string[]) => void;
}

export const draStateFile = 'dra_manager_state';
const reconcileMs = 60_000;

export class DraManager {
  readonly drivers: DraDrivers;
  readonly #options: DraManagerOptions;
  readonly #cache = new ClaimCache();
  readonly #health: DeviceHealthWatch;
  readonly #slices: ResourceSlices | undefined;
  readonly #file: DurableState | undefined;
  readonly #ports: ClaimPorts;
  readonly #stopping = new AbortController();
  /** The driver that each pod waits for. */
  readonly #waiting = new Map<string, string>();
  readonly #unpreparations: Unpreparations;
  /** Whether an unusable file has left claims unknown. */
  #isLost = false;
  #hasList = false;

  constructor(options: DraManagerOptions) {
    this.#options = options;
    const { clock, timeline, random, metrics, api, checkpoint, open } = options;
    this.#health = new DeviceHealthWatch({
      clock,
      timeline,
      checkpoint,
      onChange: (driver, isChanged) => options.sync(this.#usersOf(driver, isChanged)),
    });
    this.#slices = api && new ResourceSlices({ clock, timeline, random, api });
    this.drivers = new DraDrivers({
      clock,
      open,
      random,
      onUsable: (driver, isUsable) => this.#usable(driver, isUsable),
      watchHealth: async (endpoint, method, signal) => {
        if (options.health.isShown) await this.#health.watch(endpoint, method, signal);
      },
      onError: (task, error) =>
        timeline.record({ kind: 'problem', what: 'kubelet.task', message: `${task} failed`, error }),
    });
    this.#file =
      checkpoint &&
      new DurableState(checkpoint.store, join(checkpoint.rootDir, draStateFile), () => this.checkpointText());
    const { rules } = options;
    const calls = new DriverCalls({
      clock,
      drivers: this.drivers,
      metrics,
      onPrepared: (claim, driver, devices) => this.#cache.setDevices(claim, driver, devices),
      signal: this.#stopping.signal,
    });
    const written = async (): Promise<void> => {
      this.#hasList = true;
      this.#file?.changed();
      await this.#file?.written();
    };
    this.#ports = {
      api,
      cache: this.#cache,
      drivers: this.drivers,
      calls,
      metrics,
      timeline,
      rules,
      written,
    };
    this.#unpreparations = new Unpreparations(this.#ports, this.#stopping.signal);
  }

  /** Takes over what an earlier run knew. Rejects only if the disk cannot be read just now. */
  async start(): Promise<void> {
    const { checkpoint, timeline, nodeName } = this.#options;
    await this.#health.start();
    if (checkpoint === undefined) return;
    const path = join(checkpoint.rootDir, draStateFile);
    let kept: readonly ClaimRecord[] = [];
    const found = await checkpoint.store.read(path, (text) => {
      const read = parseDraCheckpoint(text);
      if (read.kind === 'read') return read.claims;
      kept = read.claims;
      throw new Error(read.problem);
    });
    if (found.kind === 'found') {
      this.#hasList = true;
      this.#cache.restore(found.value);
      return;
    }
    if (found.kind === 'set aside') {
      this.#cache.restore(kept);
      this.#isLost = kept.length === 0;
      const rest = this.#isLost
        ? 'the claims of pods are asked of the cluster, and prepared again where a container starts'
        : `${kept.length} claims could be read from it and are kept`;
      const message = `${path} cannot be used (${found.reason}); ${rest}`;
      const data = { kept: kept.length, problem: found.reason };
      timeline.record({ kind: 'problem', what: 'dra.recover', level: 'warn', message, data });
      timeline.nodeEvent(nodeName, 'Warning', 'DynamicResourcesStateRebuilt', message);
    }
    this.#hasList = this.#cache.list().length > 0;
    this.#file?.changed();
    await this.#file?.written().catch(() => undefined);
  }

  /** Runs until aborted: gives back what pods left that ended while nobody looked. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, allSourcesReady } = this.#options;
    this.#slices?.wipeAll();
    for (;;) {
      if (allSourcesReady()) await this.#reconcile(signal);
      await sleep(clock, allSourcesReady() ? reconcileMs : 1000, signal);
    }
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.drivers.stop();
    await this.#slices?.stop();
    await this.#unpreparations.settled();
    await this.#file?.stop();
    await this.#health.stop();
  }

  /** Called before the pod's sandbox is made. Rejects with the reason why the pod has to wait. */
  async prepare(pod: Pod, signal: AbortSignal): Promise<void> {
    const { uid } = pod.metadata;
    await this.#measured('PrepareResources', async () => {
      try {
        await preparePod(this.#ports, pod, signal);
        this.#waiting.delete(uid);
      } catch (error) {
        if (error instanceof DriverFailure) this.#waiting.set(uid, error.driver);
        if (isCancelled(error)) throw error;
        throw new Error(`prepare dynamic resources: ${errorText(error)}`, { cause: error });
      }
    });
  }

  /** Called when all containers of the pod have stopped. Rejects if it has to be tried again. */
  async unprepare(pod: Pod, signal: AbortSignal): Promise<void> {
    const { uid } = pod.metadata;
    this.#waiting.delete(uid);
    await this.#measured('UnprepareResources', async () => {
      try {
        if (this.#isLost && usesClaims(pod)) await adoptClaims(this.#ports, pod, this.#options.pods, signal);
        await untilAborted(this.#unpreparations.once(uid, pod), signal);
      } catch (error) {
        if (isCancelled(error)) throw error;
        this.#unpreparations.failed(uid, pod, error);
        throw new Error(`unprepare dynamic resources: ${errorText(error)}`, { cause: error });
      }
    });
  }

  /** The CDI names for a container. Rejects with the reason of CreateContainerConfigError. */
  async cdiDevices(pod: Pod, container: AnyContainer, signal: AbortSignal): Promise<readonly string[]> {
    const { namespace } = pod.metadata;
    const isMissing = claimsOfContainer(pod, container).some(({ claimName }) => {
      const claim = this.#cache.get(namespace, claimName);
      return claim === undefined || [...claim.drivers.values()].some(({ devices }) => devices === undefined);
    });
    if (this.#isLost && isMissing) await this.prepare(pod, signal);
    return cdiDevicesOf(pod, container, (ns, name) => this.#cache.get(ns, name));
  }

  /** Whether something of the pod is still to be given back. */
  holds(podUid: string): boolean {
    return this.#cache.ofPod(podUid).length > 0;
  }

  claim(namespace: string, name: string): CachedClaim | undefined {
    return this.#cache.get(namespace, name);
  }

  claims(): readonly CachedClaim[] {
    return this.#cache.list();
  }

  endpoints(): readonly DriverEndpoint[] {
    return this.drivers.list();
  }

  /** The driver that each pod waits for, by its UID. */
  waiting(): ReadonlyMap<string, string> {
    return this.#waiting;
  }

  health(pod: Pod, container: AnyContainer): ResourceStatus[] {
    const { isShown, showsMessages } = this.#options.health;
    if (!isShown) return [];
    return claimHealth(pod, container, {
      claim: (namespace, name) => this.#cache.get(namespace, name),
      health: (driver, pool, device) => this.#health.of(driver, pool, device),
      showsMessages,
    });
  }

  checkpointText(): string {
    return formatDraCheckpoint(this.#hasList ? this.#cache.list() : undefined);
  }

  async #reconcile(signal: AbortSignal): Promise<void> {
    for (const uid of this.#waiting.keys()) if (!this.#options.mayUse(uid)) this.#waiting.delete(uid);
    const left = [...this.#cache.podUids()].filter((uid) => !this.#options.mayUse(uid));
    // One driver that hangs must not keep the claims of others.
    const all = left.map((uid) =>
      this.#unpreparations
        .once(uid, undefined)
        .catch((error: unknown) => this.#unpreparations.failed(uid, undefined, error)),
    );
    await untilAborted(Promise.all(all), signal);
  }

  #usable(driver: string, isUsable: boolean): void {
    this.#slices?.usable(driver, isUsable);
    const because = isUsable ? 'its socket answers' : 'its socket does not answer, or it has gone';
    const message = `Driver ${driver} can${isUsable ? '' : 'not'} be called`;
    const data = { driver, usable: isUsable };
    this.#options.timeline.record({ kind: 'transition', what: 'dra.driver', message, because, data });
    if (!isUsable) return;
    const waiting = [...this.#waiting].filter(([, missing]) => missing === driver).map(([uid]) => uid);
    if (waiting.length > 0) this.#options.sync(waiting);
  }

  #usersOf(driver: string, isChanged: (pool: string, device: string) => boolean): readonly string[] {
    const users = this.#cache.list().flatMap(({ drivers, podUids }) => {
      const devices = drivers.get(driver)?.devices ?? [];
      return devices.some(({ poolName, deviceName }) => isChanged(poolName, deviceName)) ? [...podUids] : [];
    });
    return [...new Set(users)];
  }

  async #measured(
    operation: 'PrepareResources' | 'UnprepareResources',
    work: () => Promise<void>,
  ): Promise<void> {
    const { clock, metrics } = this.#options;
    const startedMs = clock.monotonic();
    const count = (isError: boolean): void =>
      metrics.operations.observe((clock.monotonic() - startedMs) / 1000, {
        operation_name: operation,
        is_error: String(isError),
      });
    await work().catch((error: unknown) => {
      count(true);
      throw error;
    });
    count(false);
  }
}
