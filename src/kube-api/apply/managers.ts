/** Who owns which fields of an object: its `metadata.managedFields`, read, bounded and written. */
import type { ManagedFieldsEntry } from '../../kube/types/index.js';
import { parseTimestamp } from '../../kube/values/go-format.js';
import { isMapping } from '../../kube-client/patches/json.js';
import { kubeApiLimits } from '../limits.js';
import { type FieldSet, isEmptySet, readFieldSet, union, writeFieldSet } from './field-set.js';

/** One way of writing by one program. */
export interface FieldManager {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  /** Empty: the object itself. */
  readonly subresource: string;
}

export interface ManagedSet extends FieldManager {
  readonly time: string | undefined;
  readonly fields: FieldSet;
}

/** Has the fields of those that updated long ago; more than a bound are joined, the oldest first. */
const joinedManager = 'ancient-changes';

export function isSameManager(a: FieldManager, b: FieldManager): boolean {
  return (
    a.manager === b.manager &&
    a.operation === b.operation &&
    a.apiVersion === b.apiVersion &&
    a.subresource === b.subresource
  );
}

/** Undefined when one of the entries is none that a server wrote. */
export function readManagers(entries: unknown): readonly ManagedSet[] | undefined {
  if (entries === undefined || entries === null) return [];
  if (!Array.isArray(entries)) return undefined;
  const sets: ManagedSet[] = [];
  for (const entry of entries) {
    const set = readEntry(entry);
    if (set === undefined) return undefined;
    sets.push(set);
  }
  return sets;
}

function readEntry(entry: unknown): ManagedSet | undefined {
  if (!isMapping(entry)) return undefined;
  const { manager = '', operation, apiVersion = '', subresource = '', time, fieldsType, fieldsV1 } = entry;
  const fields = readFieldSet(fieldsV1 ?? {});
  if (fields === undefined || (fieldsType ?? 'FieldsV1') !== 'FieldsV1') return undefined;
  if (operation !== 'Apply' && operation !== 'Update') return undefined;
  if (typeof manager !== 'string' || typeof apiVersion !== 'string' || typeof subresource !== 'string')
    return undefined;
  return {
    manager,
    operation,
    apiVersion,
    subresource,
    time: typeof time === 'string' ? time : undefined,
    fields,
  };
}

/** A client forgets all managers by writing one empty entry. */
export function isReset(entries: unknown): boolean {
  if (!Array.isArray(entries) || entries.length !== 1) return false;
  const [entry] = entries;
  return isMapping(entry) && Object.keys(entry).length === 0;
}

/** Those that apply first, then by time. Undefined when nobody owns anything. */
export function writeManagers(managers: readonly ManagedSet[]): ManagedFieldsEntry[] | undefined {
  const known = capped(managers.filter(({ fields }) => !isEmptySet(fields)));
  if (known.length === 0) return undefined;
  return sorted(known).map(({ manager, operation, apiVersion, subresource, time, fields }) => ({
    manager,
    operation,
    apiVersion,
    ...(time === undefined ? {} : { time }),
    fieldsType: 'FieldsV1',
    fieldsV1: writeFieldSet(fields),
    ...(subresource === '' ? {} : { subresource }),
  }));
}

function sorted(managers: readonly ManagedSet[]): ManagedSet[] {
  return [...managers].sort((a, b) => {
    if (a.operation !== b.operation) return a.operation < b.operation ? -1 : 1;
    return timeOf(a) - timeOf(b) || (a.manager < b.manager ? -1 : 1);
  });
}

function timeOf({ time }: ManagedSet): number {
  return time === undefined ? 0 : (parseTimestamp(time) ?? 0);
}

function capped(managers: readonly ManagedSet[]): ManagedSet[] {
  const appliers = managers.filter(({ operation }) => operation === 'Apply');
  const updaters = sorted(managers.filter(({ operation }) => operation === 'Update'));
  const tooMany = updaters.splice(0, Math.max(0, updaters.length - kubeApiLimits.updatersPerObject + 1));
  const last = tooMany.at(-1);
  if (last === undefined || tooMany.length < 2) return [...appliers, ...tooMany, ...updaters];
  const fields = tooMany.map((one) => one.fields).reduce(union);
  return [...appliers, { ...last, manager: joinedManager, subresource: '', fields }, ...updaters];
}
