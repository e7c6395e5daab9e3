/** The fields of what all objects share: managers of fields and conditions. */
import { podTables } from '../../../kube/manifests/schema/pod-tables.js';

export const metaTables = {
  ObjectMeta: { ...podTables.ObjectMeta, managedFields: '[]ManagedFieldsEntry' },
  ManagedFieldsEntry: {
    apiVersion: 'string',
    fieldsType: 'string',
    fieldsV1: 'any',
    manager: 'string',
    operation: 'string',
    subresource: 'string',
    time: 'time',
  },
  Condition: {
    lastTransitionTime: 'time!',
    message: 'string!',
    observedGeneration: 'int64',
    reason: 'string!',
    status: 'string!',
    type: 'string!',
  },
} as const;
