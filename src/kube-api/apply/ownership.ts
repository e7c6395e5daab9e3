/** Keeps `metadata.managedFields` of objects that are written, and applies configurations to them. */
import type { KubeObject, ManagedFieldsEntry } from '../../kube/types/index.js';
import { formatTimestamp } from '../../kube/values/go-format.js';
import { ApiError } from '../../kube-client/api-error.js';
import type { Resource } from '../../kube-client/resources.js';
import { kubeApiLimits } from '../limits.js';
import { invalid } from '../objects/server-errors.js';
import type { ObjectWrite } from '../objects/write-rules.js';
import { kindType } from '../schema/api-types.js';
import { conflictError } from './conflicts.js';
import { decideApply, type FieldWriter, managersAfterUpdate } from './decide.js';
import { isReset, type ManagedSet, readManagers, writeManagers } from './managers.js';
import { repeatedMember } from './members.js';

/** Who writes without a name: the parts of this process. */
const ownManager = 'nodelet';

function writerOf({ fieldManager, subresource }: ObjectWrite, nowMs: number): FieldWriter {
  return {
    manager: fieldManager ?? ownManager,
    subresource: subresource ?? '',
    time: formatTimestamp(nowMs),
  };
}

/** Gives an object its managed fields in place. */
export function setManagedFields(
  resource: Resource,
  current: KubeObject | undefined,
  next: KubeObject,
  sent: ManagedFieldsEntry[] | undefined,
  write: ObjectWrite,
  nowMs: number,
): void {
  const decided =
    write.isApplied === true ? sent : managedFieldsAfter(resource, current, next, sent, write, nowMs);
  if (decided === undefined) delete next.metadata.managedFields;
  else next.metadata.managedFields = decided;
}

/**
 * The managed fields of an object after a write that is no apply. `sent` are those that the client wrote; a client
 * may change them, and one that does not know them keeps them.
 */
function managedFieldsAfter(
  resource: Resource,
  current: KubeObject | undefined,
  next: KubeObject,
  sent: ManagedFieldsEntry[] | undefined,
  write: ObjectWrite,
  nowMs: number,
): ManagedFieldsEntry[] | undefined {
  const live = current?.metadata.managedFields;
  const managers = knownManagers(live, sent, write);
  // Nobody asked who owns the fields of an object whose managers were forgotten, until it is applied.
  if (current !== undefined && (live ?? []).length === 0 && managers.length === 0) return undefined;
  return writeManagers(managersAfterUpdate(resource, current, next, managers, writerOf(write, nowMs)));
}

function knownManagers(
  live: ManagedFieldsEntry[] | undefined,
  sent: ManagedFieldsEntry[] | undefined,
  { subresource }: ObjectWrite,
): readonly ManagedSet[] {
  // Most clients send back what they read.
  if (sent === undefined || JSON.stringify(sent) === JSON.stringify(live)) return readManagers(live) ?? [];
  if (subresource === undefined && isReset(sent)) return [];
  const given = subresource === undefined ? readManagers(sent) : undefined;
  return given === undefined || given.length === 0 ? (readManagers(live) ?? []) : given;
}

/** The object with a configuration applied, and with its managers. Throws `ApiError` on a conflict. */
export function appliedObject<T extends KubeObject>(
  resource: Resource<T>,
  current: T | undefined,
  config: T,
  hasStatus: boolean,
  write: ObjectWrite & { readonly force?: boolean },
  nowMs: number,
): T {
  if (config.metadata.managedFields !== undefined)
    throw new ApiError({ code: 400, message: 'metadata.managedFields must be nil' });
  const managers = readManagers(current?.metadata.managedFields) ?? [];
  const outcome = decideApply({
    resource,
    live: current,
    config: writablePart(config, hasStatus, write),
    managers,
    writer: writerOf(write, nowMs),
    force: write.force === true,
  });
  if (outcome.kind === 'conflict') throw conflictError(outcome.conflicts);
  if (
    outcome.managers.filter(({ operation }) => operation === 'Apply').length > kubeApiLimits.appliersPerObject
  )
    throw invalid(
      resource,
      config.metadata.name ?? '',
      `metadata.managedFields: Too many: must have at most ${kubeApiLimits.appliersPerObject} managers that apply`,
    );
  // Merged by the schema of its kind, from two objects of that kind.
  const object = outcome.object as T;
  const managedFields = writeManagers(outcome.managers);
  const { managedFields: _before, ...metadata } = object.metadata;
  return { ...object, metadata: { ...metadata, ...(managedFields === undefined ? {} : { managedFields }) } };
}

/** The spec is applied at the object, the status at its subresource. */
function writablePart<T extends KubeObject>(config: T, hasStatus: boolean, { subresource }: ObjectWrite): T {
  const part = { ...config };
  if (subresource === 'status') {
    const { name, namespace, uid, resourceVersion } = config.metadata;
    Reflect.deleteProperty(part, 'spec');
    part.metadata = JSON.parse(JSON.stringify({ name, namespace, uid, resourceVersion }));
  } else if (hasStatus) Reflect.deleteProperty(part, 'status');
  return part;
}

/** What is wrong with a list whose members a configuration names twice; undefined when it names each once. */
export function memberNamedTwice(resource: Resource, config: unknown): string | undefined {
  const type = kindType(resource.kind);
  return type === undefined ? undefined : repeatedMember({ kind: 'object', type, whole: false }, config, '');
}
