/** The subresources of pods that the kubelet answers: logs, commands, terminals and forwarded ports. */

import type { Pod } from '../kube/index.js';
import type { OtherResponder, ServedApi } from '../kube-api/index.js';
import { ApiError, resources } from '../kube-client/index.js';

/** What a request becomes for the kubelet's own API. */
export interface KubeletRequest {
  readonly path: string;
  readonly query: URLSearchParams;
}

const connections: ReadonlySet<string> = new Set(['log', 'exec', 'attach', 'portforward']);

/** Undefined when the path is none of these. Throws `ApiError` when the pod has no such container. */
export function kubeletRequest(
  api: Pick<ServedApi, 'get'>,
  target: NonNullable<Parameters<OtherResponder['respond']>[1]>,
  query: URLSearchParams,
): KubeletRequest | undefined {
  const { kind, namespace, name, subresource = '', below } = target;
  if (kind.resource.plural !== 'pods' || name === undefined || namespace === undefined || below !== undefined)
    return undefined;
  if (!connections.has(subresource)) return undefined;
  const pod = api.get(resources.pods, { namespace, name });
  const place = `${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
  if (subresource === 'portforward') return { path: `/portForward/${place}`, query };
  const container = containerOf(pod, query.get('container') ?? '', subresource);
  const path = `/${subresource === 'log' ? 'containerLogs' : subresource}/${place}/${encodeURIComponent(container)}`;
  return { path, query: subresource === 'log' ? withoutContainer(query) : streamQuery(query, subresource) };
}

function withoutContainer(query: URLSearchParams): URLSearchParams {
  const rest = new URLSearchParams(query);
  rest.delete('container');
  return rest;
}

const streamNames: readonly (readonly [given: string, kubelets: string])[] = [
  ['stdin', 'input'],
  ['stdout', 'output'],
  ['stderr', 'error'],
  ['tty', 'tty'],
];

/** The kubelet has other names for the streams. */
function streamQuery(query: URLSearchParams, subresource: string): URLSearchParams {
  const next = new URLSearchParams();
  for (const [given, kubelets] of streamNames) {
    const value = query.get(given);
    if (value === 'true' || value === '1') next.set(kubelets, '1');
  }
  if (subresource === 'exec') for (const word of query.getAll('command')) next.append('command', word);
  return next;
}

/** The one that is asked for, or the only one there is. */
function containerOf({ metadata, spec }: Pod, wanted: string, subresource: string): string {
  const all = [...spec.containers, ...(spec.initContainers ?? []), ...(spec.ephemeralContainers ?? [])];
  const { name } = metadata;
  if (wanted !== '') {
    if (all.some((container) => container.name === wanted)) return wanted;
    throw new ApiError({ code: 400, message: `container ${wanted} is not valid for pod ${name}` });
  }
  const [only] = spec.containers;
  if (only !== undefined && (spec.containers.length === 1 || subresource !== 'log')) return only.name;
  const names = spec.containers.map((container) => container.name).join(' ');
  throw new ApiError({
    code: 400,
    message: `a container name must be specified for pod ${name}, choose one of: [${names}]`,
  });
}
