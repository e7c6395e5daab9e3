/** Prints objects as rows of a table, for clients that show them to people. */
import type { KubeObject } from '../../kube/types/index.js';
import type { TablePrinter } from '../http/render.js';

export const tablePrinter: TablePrinter = {
  table(_kind, objects, { nowMs, include, withColumns }) {
    return {
      apiVersion: 'meta.k8s.io/v1',
      kind: 'Table',
      columnDefinitions: withColumns
        ? [
            { name: 'Name', type: 'string', format: 'name', description: 'Name of the object', priority: 0 },
            {
              name: 'Age',
              type: 'string',
              format: '',
              description: 'Time since it was created',
              priority: 0,
            },
          ]
        : [],
      rows: objects.map((object) => ({
        cells: [object.metadata.name ?? '', age(object, nowMs)],
        ...(include === 'None' ? {} : { object: include === 'Object' ? object : partial(object) }),
      })),
    };
  },
};

function age({ metadata: { creationTimestamp } }: KubeObject, nowMs: number): string {
  if (creationTimestamp === undefined) return '<unknown>';
  return `${Math.max(0, Math.floor((nowMs - Date.parse(creationTimestamp)) / 1000))}s`;
}

function partial({ metadata }: KubeObject): unknown {
  return { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata', metadata };
}
