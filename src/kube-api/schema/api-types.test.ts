import { describe, expect, it } from 'vitest';
import type * as kube from '../../kube/types/index.js';
import { type MergeSchema, mergeSchemaOf } from '../../kube-client/patches/merge-keys.js';
import { servedKinds } from '../kinds/kinds.js';
import { type ApiObjectType, type ApiValueType, apiType, kindType } from './api-types.js';
import { listFacts } from './merge-rules.js';
import { servedMergeSchema } from './merge-schema.js';
import type { appsTables } from './tables/apps.js';
import type { batchTables } from './tables/batch.js';
import type { coreObjectTables } from './tables/core-objects.js';
import type { podStatusTables } from './tables/core-pod-status.js';
import { typeTables } from './tables/index.js';
import type { metaTables } from './tables/meta.js';
import type { otherTables } from './tables/others.js';

/** The fields of a type of ours that a table lacks; `never` when it has all. */
type Lacking<T, Table> = Exclude<keyof T, keyof Table>;
const none = <T extends never>(_lacking?: T): void => undefined;

describe('the tables', () => {
  it.each(servedKinds.map(({ resource }) => resource.kind))('have the kind %s', (kind) => {
    expect(kindType(kind)?.fields.get('metadata')?.value).toMatchObject({ kind: 'object' });
  });

  it('name only types that they have', () => {
    for (const name of Object.keys(typeTables)) expect(apiType(name)).toBeDefined();
  });

  it('have every field of our types; else this does not compile', () => {
    none<Lacking<kube.ManagedFieldsEntry, typeof metaTables.ManagedFieldsEntry>>();
    none<Lacking<kube.PodStatus, typeof podStatusTables.PodStatus>>();
    none<Lacking<kube.ContainerStatus, typeof podStatusTables.ContainerStatus>>();
    none<Lacking<kube.PodCondition, typeof podStatusTables.PodCondition>>();
    none<Lacking<kube.ContainerStateTerminated, typeof podStatusTables.ContainerStateTerminated>>();
    none<Lacking<kube.PodVolumeHealth, typeof podStatusTables.PodVolumeHealth>>();
    none<Lacking<kube.NodeSpec, typeof coreObjectTables.NodeSpec>>();
    none<Lacking<kube.NodeStatus, typeof coreObjectTables.NodeStatus>>();
    none<Lacking<kube.NodeSystemInfo, typeof coreObjectTables.NodeSystemInfo>>();
    none<Lacking<kube.NodeCondition, typeof coreObjectTables.NodeCondition>>();
    none<Lacking<kube.Taint, typeof coreObjectTables.Taint>>();
    none<Lacking<kube.Event, typeof coreObjectTables.Event>>();
    none<Lacking<kube.ServiceSpec, typeof coreObjectTables.ServiceSpec>>();
    none<Lacking<kube.ServicePort, typeof coreObjectTables.ServicePort>>();
    none<Lacking<kube.EndpointAddress, typeof coreObjectTables.EndpointAddress>>();
    none<Lacking<kube.EndpointSubset, typeof coreObjectTables.EndpointSubset>>();
    none<Lacking<kube.Deployment['spec'], typeof appsTables.DeploymentSpec>>();
    none<Lacking<NonNullable<kube.Deployment['status']>, typeof appsTables.DeploymentStatus>>();
    none<Lacking<kube.ReplicaSet['spec'], typeof appsTables.ReplicaSetSpec>>();
    none<Lacking<NonNullable<kube.ReplicaSet['status']>, typeof appsTables.ReplicaSetStatus>>();
    none<Lacking<kube.StatefulSet['spec'], typeof appsTables.StatefulSetSpec>>();
    none<Lacking<NonNullable<kube.StatefulSet['status']>, typeof appsTables.StatefulSetStatus>>();
    none<Lacking<kube.DaemonSet['spec'], typeof appsTables.DaemonSetSpec>>();
    none<Lacking<NonNullable<kube.DaemonSet['status']>, typeof appsTables.DaemonSetStatus>>();
    none<Lacking<kube.ControllerRevision, typeof appsTables.ControllerRevision>>();
    none<Lacking<kube.JobSpec, typeof batchTables.JobSpec>>();
    none<Lacking<NonNullable<kube.Job['status']>, typeof batchTables.JobStatus>>();
    none<Lacking<kube.CronJob['spec'], typeof batchTables.CronJobSpec>>();
    none<Lacking<NonNullable<kube.CronJob['status']>, typeof batchTables.CronJobStatus>>();
    none<Lacking<kube.Endpoint, typeof otherTables.Endpoint>>();
    none<Lacking<kube.EndpointSlice, typeof otherTables.EndpointSlice>>();
    none<Lacking<kube.LeaseSpec, typeof otherTables.LeaseSpec>>();
    none<Lacking<kube.RuntimeClass, typeof otherTables.RuntimeClass>>();
    none<Lacking<kube.PriorityClass, typeof otherTables.PriorityClass>>();
    none<Lacking<kube.StorageClass, typeof otherTables.StorageClass>>();
  });
});

describe('lists', () => {
  it('are known by fields that their members have', () => {
    let lists = 0;
    for (const name of Object.keys(typeTables)) {
      for (const { name: field, value, merge } of apiType(name)?.fields.values() ?? []) {
        if (value.kind !== 'list') continue;
        expect(listFacts(name, field) === undefined || value.kind === 'list').toBe(true);
        const keys = value.rule.kind === 'map' ? value.rule.keys : [];
        for (const key of [...keys, ...(typeof merge === 'string' ? [merge] : [])]) {
          expect(membersOf(value.item)?.fields.has(key), `${name}.${field} by ${key}`).toBe(true);
          lists++;
        }
      }
    }
    expect(lists).toBeGreaterThan(50);
  });

  it.each(['Pod', 'Node', 'Service', 'ServiceAccount'])(
    'of a %s are merged here as its clients merge them',
    (kind) => expectWithin(mergeSchemaOf({ kind }), servedMergeSchema({ kind }), kind),
  );

  it('of the template of a workload are merged as those of a pod', () => {
    const template = servedMergeSchema({ kind: 'Deployment' }).fields?.spec?.fields?.template;
    expect(template?.fields?.spec).toEqual(servedMergeSchema({ kind: 'Pod' }).fields?.spec);
    expect(template?.fields?.spec?.lists?.containers?.members?.lists?.ports).toEqual({
      key: 'containerPort',
    });
  });
});

function membersOf(item: ApiValueType): ApiObjectType | undefined {
  return item.kind === 'object' ? item.type : undefined;
}

function expectWithin(client: MergeSchema, server: MergeSchema, place: string): void {
  for (const [list, { key, members = {} }] of Object.entries(client.lists ?? {})) {
    const found = server.lists?.[list];
    expect(found, `${place}.${list}`).toBeDefined();
    expect(found?.key, `${place}.${list}`).toBe(key);
    expectWithin(members, found?.members ?? {}, `${place}.${list}`);
  }
  for (const [field, inner] of Object.entries(client.fields ?? {}))
    expectWithin(inner, server.fields?.[field] ?? {}, `${place}.${field}`);
}
