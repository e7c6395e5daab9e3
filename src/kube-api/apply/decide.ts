/** Decides who owns which fields after a write, and what an applied configuration makes of an object. */
import { isMapping, type JsonMapping } from '../../kube-client/patches/json.js';
import { apiVersionOf, type Resource } from '../../kube-client/resources.js';
import { type ApiValueType, kindType } from '../schema/api-types.js';
import { compareFields, fieldsOf } from './compare.js';
import {
  difference,
  equalSets,
  type FieldSet,
  fieldSet,
  intersection,
  isEmptySet,
  union,
  wholeField,
  without,
} from './field-set.js';
import { type FieldManager, isSameManager, type ManagedSet } from './managers.js';
import { mergeApplied, pruneUnowned } from './merge-applied.js';

/** Fields that only the server writes, or that name the object: nobody owns them. */
const unowned: FieldSet = fieldSet(false, [
  ['f:apiVersion', wholeField],
  ['f:kind', wholeField],
  [
    'f:metadata',
    fieldSet(
      false,
      [
        'name',
        'namespace',
        'creationTimestamp',
        'deletionTimestamp',
        'deletionGracePeriodSeconds',
        'selfLink',
        'uid',
        'generation',
        'managedFields',
        'resourceVersion',
      ].map((name): [string, FieldSet] => [`f:${name}`, wholeField]),
    ),
  ],
]);

export interface FieldWriter {
  readonly manager: string;
  readonly subresource: string;
  readonly time: string;
}

/** Every served kind has a type; objects of others are one whole. */
function typeOf({ kind }: Resource): ApiValueType {
  const type = kindType(kind);
  return type === undefined
    ? { kind: 'mapping', item: { kind: 'scalar', scalar: 'any' }, whole: false }
    : { kind: 'object', type, whole: false };
}

/** The managers after a create, update or patch: the writer owns what it added or changed. */
export function managersAfterUpdate(
  resource: Resource,
  before: unknown,
  after: unknown,
  managers: readonly ManagedSet[],
  { manager, subresource, time }: FieldWriter,
): readonly ManagedSet[] {
  const [old, next] = changedParts(before, after);
  const { added, modified, removed } = compareFields(typeOf(resource), old, next);
  const written = without(union(added, modified), unowned);
  const self: FieldManager = {
    manager,
    operation: 'Update',
    apiVersion: apiVersionOf(resource),
    subresource,
  };
  const gone = union(written, removed);
  const result = managers.map((one) => {
    const kept = difference(one.fields, gone);
    if (!isSameManager(one, self)) return { ...one, fields: kept };
    const fields = union(difference(one.fields, removed), written);
    return { ...one, fields, time: equalSets(fields, one.fields) ? one.time : time };
  });
  if (!result.some((one) => isSameManager(one, self))) return [...result, { ...self, time, fields: written }];
  return result;
}

/** Both without the parts in which they are equal, which are most of an object. */
function changedParts(before: unknown, after: unknown): [JsonMapping, JsonMapping] {
  const old = isMapping(before) ? { ...before } : {};
  const next = isMapping(after) ? { ...after } : {};
  for (const key of Object.keys(next)) {
    if (old[key] === undefined || JSON.stringify(old[key]) !== JSON.stringify(next[key])) continue;
    Reflect.deleteProperty(old, key);
    Reflect.deleteProperty(next, key);
  }
  return [old, next];
}

/** What another manager owns and an applied configuration would change. */
export interface ManagerConflict {
  readonly manager: ManagedSet;
  readonly fields: FieldSet;
}

export type AppliedOutcome =
  | { readonly kind: 'applied'; readonly object: unknown; readonly managers: readonly ManagedSet[] }
  | { readonly kind: 'conflict'; readonly conflicts: readonly ManagerConflict[] };

export interface ApplyRequest {
  readonly resource: Resource;
  /** Undefined: the object is new. */
  readonly live: unknown;
  readonly config: unknown;
  readonly managers: readonly ManagedSet[];
  readonly writer: FieldWriter;
  /** Takes fields from their owners. */
  readonly force: boolean;
}

export function decideApply({
  resource,
  live,
  config,
  managers,
  writer,
  force,
}: ApplyRequest): AppliedOutcome {
  const type = typeOf(resource);
  const { manager, subresource, time } = writer;
  const self: FieldManager = { manager, operation: 'Apply', apiVersion: apiVersionOf(resource), subresource };
  const known = managers.length > 0 || live === undefined ? managers : firstApply(type, live, self, time);
  const mine = known.find((one) => isSameManager(one, self));
  const others = known.filter((one) => one !== mine);
  const fields = without(fieldsOf(type, config), unowned);
  const merged = mergeApplied(type, live, config);
  const owned = others.reduce((sum, one) => union(sum, one.fields), fields);
  const object = mine === undefined ? merged : pruneUnowned(type, merged, mine.fields, owned);
  const { added, modified, removed } = compareFields(type, live ?? {}, object);
  const written = union(added, modified);
  const conflicts = others
    .map((one): ManagerConflict => ({ manager: one, fields: intersection(one.fields, written) }))
    .filter((one) => !isEmptySet(one.fields));
  if (conflicts.length > 0 && !force) return { kind: 'conflict', conflicts };
  const gone = union(written, removed);
  const isUnchanged = isEmptySet(gone) && mine !== undefined && equalSets(mine.fields, fields);
  return {
    kind: 'applied',
    object,
    managers: [
      ...others.map((one) => ({ ...one, fields: difference(one.fields, gone) })),
      { ...self, fields, time: isUnchanged ? mine.time : time },
    ],
  };
}

/** An object that nobody was known to own belongs to whoever wrote it before. */
function firstApply(
  type: ApiValueType,
  live: unknown,
  self: FieldManager,
  time: string,
): readonly ManagedSet[] {
  const { added } = compareFields(type, {}, live);
  const fields = without(added, unowned);
  return isEmptySet(fields)
    ? []
    : [
        {
          ...self,
          manager: 'before-first-apply',
          operation: 'Update',
          subresource: '',
          time,
          fields,
        },
      ];
}
