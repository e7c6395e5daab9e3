/** Namespaces: a deleted one waits until its content is gone. */
import { formatTimestamp } from '../../kube/values/go-format.js';
import { ApiError } from '../../kube-client/api-error.js';
import { resources } from '../../kube-client/resources.js';
import { served } from './served-kind.js';

/** The finalizer of the spec that the controller of namespaces takes away last. */
const contentFinalizer = 'kubernetes';

export const namespaceKind = served({
  resource: resources.namespaces,
  singular: 'namespace',
  shortNames: ['ns'],
  subresources: ['status', 'finalize'],
  admit: (namespace) => {
    namespace.spec = { finalizers: [contentFinalizer] };
    namespace.status = { phase: 'Active' };
    namespace.metadata.labels = {
      ...namespace.metadata.labels,
      'kubernetes.io/metadata.name': namespace.metadata.name ?? '',
    };
  },
  // Only the subresource that ends a namespace changes what it waits for.
  keep: (next, current, subresource) => {
    if (subresource === 'finalize') return;
    if (current.spec === undefined) delete next.spec;
    else next.spec = current.spec;
  },
  deletion: ({ metadata }, _options, nowMs) => {
    if (lasting.has(metadata.name ?? '')) throw lastingNamespace(metadata.name ?? '');
    return metadata.deletionTimestamp === undefined
      ? { kind: 'mark', deletionTimestamp: formatTimestamp(nowMs), gracePeriodSeconds: 0 }
      : undefined;
  },
  isHeld: ({ spec }) => (spec?.finalizers ?? []).length > 0,
});

/** Those that the node itself needs. */
const lasting: ReadonlySet<string> = new Set(['default', 'kube-system', 'kube-public']);

function lastingNamespace(name: string): ApiError {
  const message = `namespaces ${JSON.stringify(name)} is forbidden: this namespace may not be deleted`;
  return new ApiError({ code: 403, reason: 'Forbidden', message, details: { name, kind: 'namespaces' } });
}
