/** Every type of every kind that the API serves, by the package that the API's OpenAPI document names it after. */
import { containerTables } from '../../../kube/manifests/schema/container-tables.js';
import { objectTables } from '../../../kube/manifests/schema/object-tables.js';
import { podTables } from '../../../kube/manifests/schema/pod-tables.js';
import { volumeTables } from '../../../kube/manifests/schema/volume-tables.js';
import { appsTables } from './apps.js';
import { batchTables } from './batch.js';
import { coreObjectTables } from './core-objects.js';
import { podStatusTables } from './core-pod-status.js';
import { corePodTables } from './core-pods.js';
import { coreVolumeTables } from './core-volumes.js';
import { metaTables } from './meta.js';
import { metricsTables } from './metrics.js';
import { otherTables } from './others.js';

/** Each field and its kind of value, as in `PodSpec.containers: '[]Container!'`. */
export type FieldNotations = Readonly<Record<string, string>>;

export const typeTables: Readonly<Record<string, FieldNotations>> = {
  ...podTables,
  ...containerTables,
  ...volumeTables,
  ...objectTables,
  ...metaTables,
  ...corePodTables,
  ...podStatusTables,
  ...coreVolumeTables,
  ...coreObjectTables,
  ...appsTables,
  ...batchTables,
  ...otherTables,
  ...metricsTables,
};
