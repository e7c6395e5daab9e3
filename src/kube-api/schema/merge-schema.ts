/** Which lists of an object a strategic merge patch merges, taken from the types of the API. */
import { type MergedList, type MergeSchema, mergeSchemaOf } from '../../kube-client/patches/merge-keys.js';
import type { Resource } from '../../kube-client/resources.js';
import { type ApiObjectType, kindType } from './api-types.js';

const known = new Map<string, MergeSchema>();

/** Of every kind that the API serves; of others, what clients know about it. */
export function servedMergeSchema(resource: Pick<Resource, 'kind'>): MergeSchema {
  const type = kindType(resource.kind);
  return type === undefined ? mergeSchemaOf(resource) : schemaOf(type);
}

function schemaOf(type: ApiObjectType): MergeSchema {
  const found = known.get(type.name);
  if (found !== undefined) return found;
  const lists: Record<string, MergedList> = {};
  const fields: Record<string, MergeSchema> = {};
  for (const { name, value, merge } of type.fields.values()) {
    if (value.kind === 'object') {
      const inner = schemaOf(value.type);
      if (inner.lists !== undefined || inner.fields !== undefined) fields[name] = inner;
    }
    if (value.kind !== 'list' || merge === undefined) continue;
    const members = value.item.kind === 'object' ? schemaOf(value.item.type) : {};
    lists[name] = {
      ...(merge === true ? {} : { key: merge }),
      ...(members.lists !== undefined || members.fields !== undefined ? { members } : {}),
    };
  }
  const schema: MergeSchema = {
    ...(Object.keys(lists).length > 0 ? { lists } : {}),
    ...(Object.keys(fields).length > 0 ? { fields } : {}),
  };
  known.set(type.name, schema);
  return schema;
}
