/** Prepares the claims of one pod: checks them all, records the pod's references, then has the drivers prepare them. */
import { errorText, isCancelled, isCausedByCancellation, throwIfCancelled } from '../../async/index.js';
import type { Pod } from '../../kube/index.js';
import { podRef, type Timeline } from '../../timeline/index.js';
import type { CachedClaim, ClaimCache } from './claim-cache.js';
import type { DraApi } from './contracts.js';
import type { DriverCalls } from './driver-calls.js';
import type { DraDrivers } from './drivers.js';
import { type ClaimRules, isSkipped, judgeClaim, type NodeOperation } from './judge-claim.js';
import type { DraMetrics } from './metrics.js';
import { claimsOfPod } from './pod-claims.js';

export interface ClaimPorts {
  /** Absent on a node without a cluster: there no pod can use claims. */
  readonly api: DraApi | undefined;
  readonly cache: ClaimCache;
  readonly drivers: DraDrivers;
  readonly calls: DriverCalls;
  readonly metrics: DraMetrics;
  readonly timeline: Timeline;
  readonly rules: ClaimRules;
  /** Resolves when what the cache says is on disk; rejects if the disk refuses it. */
  readonly written: () => Promise<void>;
}

/** A claim that the pod may use. */
export interface CheckedClaim {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  readonly drivers: ReadonlyMap<string, readonly string[]>;
}

/** A driver that the pod needs is not there, or did not do what it should. */
export class DriverFailure extends Error {
  override readonly name = 'DriverFailure';
  readonly driver: string;

  constructor(driver: string, message: string) {
    super(message);
    this.driver = driver;
  }
}

/** Rejects with the text that follows `prepare dynamic resources: `. */
export async function preparePod(ports: ClaimPorts, pod: Pod, signal: AbortSignal): Promise<void> {
  const checked = await checkClaims(ports, pod, signal);
  // A pod that is being stopped must leave no reference behind that nobody gives back.
  throwIfCancelled(signal);
  const claims = join(ports, pod, checked);
  if (claims.length > 0) await checkpointed(ports, 'cache');
  const unprepared = claims.filter(({ isPrepared }) => !isPrepared);
  for (const [driver, batch] of byDriver(unprepared, 'NodePrepareResources', ports.metrics.prepareSkips)) {
    await ports.calls.prepare(driver, batch, signal).catch((error: unknown) => {
      throw isCancelled(error) ? error : new DriverFailure(driver, errorText(error));
    });
    record(ports, pod, 'dra.prepare', driver, batch);
  }
  for (const claim of unprepared) ports.cache.setPrepared(claim);
  if (claims.length > 0) await checkpointed(ports, 'state');
}

/** Changes nothing: a pod that may not use one of its claims gets none. */
async function checkClaims(
  ports: ClaimPorts,
  pod: Pod,
  signal: AbortSignal,
): Promise<readonly CheckedClaim[]> {
  const { api, drivers, rules } = ports;
  const { namespace } = pod.metadata;
  const named = claimsOfPod(pod);
  if (named.kind === 'unnamed') throw new Error(named.problem);
  const checked: CheckedClaim[] = [];
  for (const claim of named.claims) {
    if (api === undefined) {
      throw new Error(`fetch ResourceClaim ${claim.name}: this node has no cluster that it could come from`);
    }
    const object = await api.claim(namespace, claim.name, signal).catch((error: unknown) => {
      if (isCausedByCancellation(error)) throw error;
      throw new Error(`fetch ResourceClaim ${claim.name}: ${errorText(error)}`, { cause: error });
    });
    const judged = judgeClaim(pod, claim, object, rules);
    if (judged.kind === 'refused') throw new Error(judged.problem);
    for (const [driver, skipped] of judged.drivers) {
      if (isSkipped(skipped, 'NodePrepareResources')) continue;
      try {
        drivers.pick(driver);
      } catch (error) {
        throw new DriverFailure(driver, errorText(error));
      }
    }
    checked.push({ uid: judged.uid, name: claim.name, namespace, drivers: judged.drivers });
  }
  return checked;
}

/** Nothing waits in here, so no other pod comes in between the checks and the references. */
function join({ cache }: ClaimPorts, pod: Pod, checked: readonly CheckedClaim[]): readonly CachedClaim[] {
  for (const { namespace, name, uid } of checked) {
    const known = cache.get(namespace, name);
    if (known === undefined) continue;
    if (known.uid !== uid) {
      throw new Error(
        `old ResourceClaim with same name ${name} and different UID ${known.uid} still exists (previous pod force-deleted?!)`,
      );
    }
    if (known.isBeingUnprepared) throw new Error(`ResourceClaim ${name} is being unprepared`);
  }
  for (const claim of checked) cache.join(claim, claim.drivers, pod.metadata.uid);
  return checked.flatMap(({ namespace, name }) => cache.get(namespace, name) ?? []);
}

async function checkpointed({ written }: ClaimPorts, what: 'cache' | 'state'): Promise<void> {
  await written().catch((error: unknown) => {
    throw new Error(`checkpoint ResourceClaim ${what}: ${errorText(error)}`, { cause: error });
  });
}

/** The claims of each driver that wants the call, in the order of drivers' names. */
export function byDriver(
  claims: readonly CachedClaim[],
  operation: NodeOperation,
  skips: DraMetrics['prepareSkips'],
): ReadonlyMap<string, readonly CachedClaim[]> {
  const batches = new Map<string, CachedClaim[]>();
  for (const claim of claims) {
    for (const [driver, { skipNodeOperations }] of claim.drivers) {
      if (isSkipped(skipNodeOperations, operation)) skips.inc({ driver_name: driver });
      else batches.set(driver, [...(batches.get(driver) ?? []), claim]);
    }
  }
  return new Map([...batches].sort(([a], [b]) => (a < b ? -1 : 1)));
}

export function record(
  { timeline }: Pick<ClaimPorts, 'timeline'>,
  pod: Pod | undefined,
  what: 'dra.prepare' | 'dra.unprepare',
  driver: string,
  claims: readonly CachedClaim[],
): void {
  const names = claims.map(({ namespace, name }) => `${namespace}/${name}`).join(' ');
  const done = what === 'dra.prepare' ? 'prepared' : 'unprepared';
  timeline.record({
    kind: 'effect',
    what,
    message: `Driver ${driver} ${done} ${names}`,
    because: what === 'dra.prepare' ? 'the pod gets a sandbox' : 'no pod of this node uses it any more',
    data: { driver, claims: names },
    ...(pod === undefined ? {} : { pod: podRef(pod) }),
  });
}
