/** Reads what a driver answers, within bounds: drivers may be wrong, and one claim's answer says nothing of another's. */
import type { PreparedDevice } from './contracts.js';
import type { NodePrepareResourcesResponse, NodeUnprepareResourcesResponse, WireDevice } from './gen/dra.js';
import type { NodeOperation } from './judge-claim.js';
import { draLimits } from './limits.js';

export interface AskedClaim {
  readonly uid: string;
  readonly name: string;
}

/** What became of one claim. */
export type ClaimAnswer<T> =
  | { readonly kind: 'good'; readonly value: T }
  | { readonly kind: 'failed'; readonly problem: string };

export function judgePrepared(
  asked: readonly AskedClaim[],
  { claims }: NodePrepareResourcesResponse,
): ReadonlyMap<string, ClaimAnswer<readonly PreparedDevice[]>> {
  return judge('NodePrepareResources', asked, claims, ({ devices }) => {
    const problem = devicesProblem(devices);
    return problem === undefined
      ? { kind: 'good', value: devices.map(deviceOf) }
      : { kind: 'failed', problem };
  });
}

export function judgeUnprepared(
  asked: readonly AskedClaim[],
  { claims }: NodeUnprepareResourcesResponse,
): ReadonlyMap<string, ClaimAnswer<undefined>> {
  return judge('NodeUnprepareResources', asked, claims, () => ({ kind: 'good', value: undefined }));
}

function judge<A extends { readonly error: string }, T>(
  operation: NodeOperation,
  asked: readonly AskedClaim[],
  answers: Readonly<Record<string, A>>,
  read: (answer: A) => ClaimAnswer<T>,
): ReadonlyMap<string, ClaimAnswer<T>> {
  const all = (problem: string): Map<string, ClaimAnswer<T>> =>
    new Map(asked.map(({ uid }) => [uid, { kind: 'failed', problem }]));
  const uids = new Set(asked.map(({ uid }) => uid));
  const unknown = Object.keys(answers).find((uid) => !uids.has(uid));
  if (unknown !== undefined) {
    return all(`${operation} returned result for unknown claim UID ${cut(unknown)}`);
  }
  const missing = asked.filter(({ uid }) => !Object.hasOwn(answers, uid)).length;
  const outcomes = all(`${operation} skipped ${missing} ResourceClaims`);
  for (const { uid, name } of asked) {
    const answer = Object.hasOwn(answers, uid) ? answers[uid] : undefined;
    if (answer === undefined) continue;
    const outcome: ClaimAnswer<T> =
      answer.error === '' ? read(answer) : { kind: 'failed', problem: cut(answer.error) };
    outcomes.set(
      uid,
      outcome.kind === 'good'
        ? outcome
        : { kind: 'failed', problem: `${operation} failed for ResourceClaim ${name}: ${outcome.problem}` },
    );
  }
  return outcomes;
}

function devicesProblem(devices: readonly WireDevice[]): string | undefined {
  if (devices.length > draLimits.devices) return `the driver answered with ${devices.length} devices`;
  const isLong = (text: string): boolean => text.length > draLimits.nameChars;
  for (const { requestNames, poolName, deviceName, cdiDeviceIds, shareId = '' } of devices) {
    if (requestNames.length > draLimits.requestNames || cdiDeviceIds.length > draLimits.cdiDeviceIds)
      return 'the driver answered with a device that has too many names';
    if ([poolName, deviceName, shareId, ...requestNames].some(isLong))
      return 'the driver answered with a name that is too long';
    if (cdiDeviceIds.some((id) => id === '' || id.length > draLimits.cdiDeviceIdChars))
      return 'the driver answered with a CDI device that is empty or too long';
  }
  return undefined;
}

function deviceOf({ requestNames, poolName, deviceName, cdiDeviceIds, shareId }: WireDevice): PreparedDevice {
  return { poolName, deviceName, shareId, requestNames, cdiDeviceIds };
}

function cut(text: string): string {
  return text.length <= draLimits.errorChars ? text : text.slice(0, draLimits.errorChars);
}
