/** Tells what a new configuration would change, and what it would do to the node as it is now. */
import { inertGates, inertSettings, type SettingChange, settingChanges } from '../../config/index.js';
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  type Node,
  type Pod,
  parseQuantity,
  type ResourceList,
  subtractQuantities,
} from '../../kube/index.js';
import { nodeReservation, type ReservationSettings } from '../../node/index.js';
import type { EvictionForecast } from '../../resources/eviction/index.js';
import type { ImageForecast } from '../../runtime-manager/images/index.js';
import { actedOnFields, actedOnGates } from '../acted-on.js';
import { type AdmissionHandler, admit } from '../admission/admission.js';
import type { KubeletSettings } from '../settings.js';
import {
  bounded,
  type ConfigOutlook,
  type FieldChange,
  type PodRefusal,
  type ValueChange,
} from './contracts.js';
import { evictionOutlook, outlookPod } from './evict.js';
import type { CgroupTable } from './proposals.js';

export function fieldChanges(
  before: Pick<KubeletSettings, 'config' | 'gates'>,
  after: Pick<KubeletSettings, 'config' | 'gates'>,
): FieldChange[] {
  return settingChanges(before, after).map((change) => ({
    ...change,
    effect: isInert(change) ? 'none' : 'restart',
  }));
}

function isInert({ field, after }: SettingChange): boolean {
  const [struct, gate] = field.split('.');
  if (struct === 'featureGates' && gate !== undefined) {
    const either = [after === 'true', after !== 'true'];
    return either.some((value) => inertGates({ [gate]: value }, actedOnGates).length > 0);
  }
  return inertSettings(new Set([field.replace(/\[.*$/, '')]), actedOnFields).paths.length > 0;
}

/** What is met at once, and what the first pass would do. */
export function evictionUnder(
  forecast: EvictionForecast,
  evicts: boolean,
): Extract<ConfigOutlook, { kind: 'accepted' }>['eviction'] {
  const off = evicts ? undefined : 'the new configuration evicts no pods';
  const { signals, next, overLimits } = evictionOutlook(forecast, off);
  return {
    ...(off === undefined ? {} : { off }),
    next,
    overLimits,
    met: signals.flatMap(({ signal, available, unit, thresholds }) =>
      thresholds
        .filter(({ met }) => met)
        .map(({ kind, value, gracePeriod }) => ({
          signal,
          unit,
          kind,
          value,
          gracePeriod,
          ...(available === undefined ? {} : { available }),
        })),
    ),
  };
}

/** The node's allocatable with other reservations; undefined where the cluster does not tell what the node has. */
export function allocatableUnder(
  node: Node | undefined,
  before: ReservationSettings,
  after: ReservationSettings,
): ResourceList | undefined {
  const { capacity, allocatable } = node?.status ?? {};
  if (capacity === undefined || allocatable === undefined) return undefined;
  const [old, fresh] = [nodeReservation(before, capacity), nodeReservation(after, capacity)];
  return Object.fromEntries(
    Object.entries(allocatable).map(([resource, amount]) => {
      const freed = addQuantities(parseQuantity(amount), parseQuantity(old[resource] ?? '0'));
      const rest = subtractQuantities(freed, parseQuantity(fresh[resource] ?? '0'));
      const isSame = compareQuantities(rest, parseQuantity(amount)) === 0;
      return [resource, isSame ? amount : rest.nanos < 0n ? '0' : formatQuantity(rest)];
    }),
  );
}

export function resourceChanges(before: ResourceList, after: ResourceList): ValueChange[] {
  return Object.entries(after).flatMap(([name, value]) =>
    before[name] === value ? [] : [{ name, before: before[name] ?? '0', after: value }],
  );
}

/** Pods that a restart would refuse, asked in the order in which they were created, as a start does. */
export async function refusedBy(
  handlers: readonly AdmissionHandler[],
  pods: readonly Pod[],
): Promise<PodRefusal[]> {
  const admitted: Pod[] = [];
  const refused: PodRefusal[] = [];
  const created = ({ metadata }: Pod): string => metadata.creationTimestamp ?? '';
  for (const pod of [...pods].sort((a, b) =>
    created(a) < created(b) ? -1 : created(a) > created(b) ? 1 : 0,
  )) {
    const answer = await admit(handlers, { pod, others: admitted, operation: 'add' });
    if (answer.admit) admitted.push(pod);
    else refused.push({ ...outlookPod(pod), reason: answer.reason, message: answer.message.trim() });
  }
  return refused;
}

/** Images that would go now and would stay without the new configuration. */
export function imagesUnder(
  before: ImageForecast,
  after: ImageForecast,
): Extract<ConfigOutlook, { kind: 'accepted' }>['images'] {
  const gone = new Set(before.images.filter(({ when }) => when === 'now').map(({ id }) => id));
  const more = after.images.filter(({ id, when }) => when === 'now' && !gone.has(id));
  return { goNow: bounded(more), bytes: more.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) };
}

export function cgroupChanges(before: CgroupTable, after: CgroupTable): (ValueChange & { cgroup: string })[] {
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((cgroup) => {
    const [old, fresh] = [before.get(cgroup) ?? {}, after.get(cgroup) ?? {}];
    return [...new Set([...Object.keys(old), ...Object.keys(fresh)])].flatMap((name) =>
      old[name] === fresh[name]
        ? []
        : [{ cgroup, name, before: old[name] ?? 'unset', after: fresh[name] ?? 'unset' }],
    );
  });
}
