/** Prints objects as rows of a table, for clients that show them to people. */
import type { KubeObject } from '../../kube/types/index.js';
import type { TablePrinter } from '../http/render.js';
import { ageColumn, ageOf, type KindTable, type TableColumn } from './columns.js';
import * as objects from './object-tables.js';
import { nodeMetricsTable, podMetricsTable } from './usage-tables.js';
import * as workloads from './workload-tables.js';

const tables: ReadonlyMap<string, KindTable> = new Map([
  ['pods', workloads.podTable],
  ['deployments', workloads.deploymentTable],
  ['replicasets', workloads.replicaSetTable],
  ['statefulsets', workloads.statefulSetTable],
  ['daemonsets', workloads.daemonSetTable],
  ['jobs', workloads.jobTable],
  ['cronjobs', workloads.cronJobTable],
  ['controllerrevisions', workloads.controllerRevisionTable],
  ['nodes', objects.nodeTable],
  ['namespaces', objects.namespaceTable],
  ['configmaps', objects.configMapTable],
  ['secrets', objects.secretTable],
  ['serviceaccounts', objects.serviceAccountTable],
  ['services', objects.serviceTable],
  ['endpointslices', objects.endpointSliceTable],
  ['events', objects.eventTable],
  ['persistentvolumes', objects.persistentVolumeTable],
  ['persistentvolumeclaims', objects.persistentVolumeClaimTable],
  ['storageclasses', objects.storageClassTable],
  ['priorityclasses', objects.priorityClassTable],
  ['runtimeclasses', objects.runtimeClassTable],
  ['leases', objects.leaseTable],
]);

/** Their plurals are those of what they measure. */
const usageTables: ReadonlyMap<string, KindTable> = new Map([
  ['NodeMetrics', nodeMetricsTable],
  ['PodMetrics', podMetricsTable],
]);

const nameColumn: TableColumn = { name: 'Name', type: 'string', description: 'Name of the object' };
const onlyAge: KindTable = { columns: [ageColumn], row: (object, nowMs) => [ageOf(object, nowMs)] };

export const tablePrinter: TablePrinter = {
  table({ resource }, shown, { nowMs, include, withColumns }) {
    const { columns, row } = usageTables.get(resource.kind) ?? tables.get(resource.plural) ?? onlyAge;
    // The rows of events begin with a time: their names mean nothing.
    const first = resource.plural === 'events' ? [] : [nameColumn];
    return {
      apiVersion: 'meta.k8s.io/v1',
      kind: 'Table',
      columnDefinitions: withColumns ? [...first, ...columns].map(definition) : null,
      rows: shown.map((object) => ({
        cells: [...(first.length === 0 ? [] : [object.metadata.name ?? '']), ...row(object, nowMs)],
        ...(include === 'None' ? {} : { object: include === 'Object' ? object : partial(object) }),
      })),
    };
  },
};

function definition({ name, type, description, format = '', wide = false }: TableColumn): unknown {
  return {
    name,
    type,
    format: name === 'Name' && !wide ? 'name' : format,
    description,
    priority: wide ? 1 : 0,
  };
}

function partial({ metadata }: KubeObject): unknown {
  return { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata', metadata };
}
