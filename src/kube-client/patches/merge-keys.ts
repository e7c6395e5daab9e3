/**
 * Which lists of which objects a strategic merge patch merges, and by which key: facts from the API's types.
 */
import type { Resource } from '../resources.js';

/** A merged list: by a key of its members, or, without one, as a set of plain values. */
export interface MergedList {
  readonly key?: string;
  readonly members?: MergeSchema;
}

/** Lists that are not named are replaced whole. */
export interface MergeSchema {
  readonly lists?: Readonly<Record<string, MergedList>>;
  readonly fields?: Readonly<Record<string, MergeSchema>>;
}

/**
 * How a list is merged; undefined for one that is replaced. The key may be any text, even the name of a
 * method.
 */
export function listSchema({ lists = {} }: MergeSchema, key: string): MergedList | undefined {
  return Object.hasOwn(lists, key) ? lists[key] : undefined;
}

/** The schema of a field; empty for most. */
export function fieldSchema({ fields = {} }: MergeSchema, key: string): MergeSchema {
  return (Object.hasOwn(fields, key) ? fields[key] : undefined) ?? {};
}

const metadata: MergeSchema = { lists: { finalizers: {}, ownerReferences: { key: 'uid' } } };

const container: MergeSchema = {
  lists: {
    env: { key: 'name' },
    ports: { key: 'containerPort' },
    volumeMounts: { key: 'mountPath' },
    volumeDevices: { key: 'devicePath' },
  },
};

const podSpec: MergeSchema = {
  lists: {
    volumes: { key: 'name' },
    initContainers: { key: 'name', members: container },
    containers: { key: 'name', members: container },
    ephemeralContainers: { key: 'name', members: container },
    imagePullSecrets: { key: 'name' },
    hostAliases: { key: 'ip' },
    topologySpreadConstraints: { key: 'topologyKey' },
    resourceClaims: { key: 'name' },
  },
};

const conditions: MergeSchema = { lists: { conditions: { key: 'type' } } };

const schemas: ReadonlyMap<string, MergeSchema> = new Map<string, MergeSchema>([
  [
    'Pod',
    {
      fields: {
        metadata,
        spec: podSpec,
        status: {
          lists: {
            conditions: { key: 'type' },
            podIPs: { key: 'ip' },
            hostIPs: { key: 'ip' },
            resourceClaimStatuses: { key: 'name' },
          },
        },
      },
    },
  ],
  [
    'Node',
    {
      fields: {
        metadata,
        spec: { lists: { podCIDRs: {} } },
        status: { lists: { conditions: { key: 'type' }, addresses: { key: 'type' } } },
      },
    },
  ],
  ['Service', { fields: { metadata, spec: { lists: { ports: { key: 'port' } } }, status: conditions } }],
  ['ServiceAccount', { lists: { secrets: { key: 'name' } }, fields: { metadata } }],
]);

export function mergeSchemaOf({ kind }: Pick<Resource, 'kind'>): MergeSchema {
  return schemas.get(kind) ?? { fields: { metadata, status: conditions } };
}
