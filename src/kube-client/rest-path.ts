/** Builds the paths and queries of the REST API from resources and options. */
import type { ListOptions, ObjectRef, RequestPriority, WatchOptions } from './port.js';
import type { ObjectSubresource, Resource } from './resources.js';

/** `/api/v1/namespaces/default/pods`, `/apis/coordination.k8s.io/v1/leases`. */
export function collectionPath(resource: Resource, namespace: string | undefined): string {
  const root =
    resource.group === '' ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`;
  const scope =
    resource.namespaced && namespace !== undefined && namespace !== ''
      ? `/namespaces/${encodeURIComponent(namespace)}`
      : '';
  return `${root}${scope}/${resource.plural}`;
}

export function objectPath(resource: Resource, ref: ObjectRef, subresource?: string): string {
  if (ref.name === '') throw new TypeError(`a ${resource.kind} without a name cannot be requested`);
  if (resource.namespaced && (ref.namespace === undefined || ref.namespace === '')) {
    throw new TypeError(`the ${resource.kind} ${ref.name} needs a namespace`);
  }
  const path = `${collectionPath(resource, ref.namespace)}/${encodeURIComponent(ref.name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

/** With the leading `?`; omits undefined parameters. */
export function queryOf(parameters: Readonly<Record<string, string | number | boolean | undefined>>): string {
  const given = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  );
  return given.length === 0 ? '' : `?${given.join('&')}`;
}

export function listQuery(options: ListOptions): string {
  return queryOf({
    fieldSelector: options.fieldSelector,
    labelSelector: options.labelSelector,
    // A continued list keeps the version that it began with.
    resourceVersion: options.continue === undefined ? options.resourceVersion : undefined,
    limit: options.limit,
    continue: options.continue,
  });
}

export function watchQuery(options: WatchOptions): string {
  return queryOf({
    watch: true,
    fieldSelector: options.fieldSelector,
    labelSelector: options.labelSelector,
    resourceVersion: options.resourceVersion,
    timeoutSeconds: options.timeoutSeconds,
    allowWatchBookmarks: options.allowBookmarks === true ? true : undefined,
    ...(options.sendInitialEvents === true
      ? { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' }
      : {}),
  });
}

/** The requests that keep the node alive in the cluster must not wait behind a burst of others. */
export function defaultPriority(
  resource: Resource,
  subresource: ObjectSubresource | undefined,
): RequestPriority {
  if (resource.plural === 'leases' || subresource === 'status') return 'urgent';
  return resource.plural === 'events' ? 'background' : 'normal';
}
