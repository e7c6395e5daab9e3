/** What to say of a path that this API has nothing at: which group, version, kind or subresource is not there. */
import { ApiError } from '../../kube-client/api-error.js';
import type { ApiResponse } from './contracts.js';
import { notServed, statusResponse } from './errors.js';
import type { ApiTarget } from './target.js';

const longestName = 63;

/** Why a group is not there, for those that kubectl has commands for. */
const reasons: ReadonlyMap<string, string> = new Map([
  ['autoscaling', 'nothing here scales pods by what they use; "kubectl scale" sets their number'],
  ['rbac.authorization.k8s.io', 'the owner of the node may do everything, and nobody else anything'],
  ['policy', 'there is no other node that pods could go to'],
  ['apiextensions.k8s.io', 'its kinds are fixed'],
  ['apiregistration.k8s.io', 'it has no other API servers'],
  ['admissionregistration.k8s.io', 'it asks no webhooks and no policies'],
]);

const insteadOfProxy: ReadonlyMap<string, string> = new Map([
  ['pods', '; "kubectl port-forward" reaches a pod'],
  ['services', '; "kubectl port-forward" reaches a service'],
]);

export interface ServedVersions {
  /** As in `apps/v1`. */
  readonly groupVersions: readonly string[];
  serves(groupVersion: string, plural: string): boolean;
}

export function unserved(path: string, served: ServedVersions): ApiError {
  const [root = '', ...rest] = path.split('/').filter((part) => part !== '');
  if (root === 'api') return inVersion(served, rest[0] ?? '', rest.slice(1));
  if (root !== 'apis') return notServed();
  const [group = '', version, ...others] = rest;
  const known = served.groupVersions.filter((one) => one.startsWith(`${group}/`));
  if (known.length === 0) {
    const reason = reasons.get(group);
    return missing(
      `this node does not serve the API group ${quoted(group)}${reason === undefined ? '' : `: ${reason}`}`,
    );
  }
  if (version === undefined) return notServed();
  return inVersion(served, `${group}/${version}`, others, known);
}

function inVersion(
  { groupVersions, serves }: ServedVersions,
  groupVersion: string,
  parts: readonly string[],
  known: readonly string[] = ['v1'],
): ApiError {
  if (!groupVersions.includes(groupVersion))
    return missing(`this node serves ${known.join(', ')}, not ${quoted(groupVersion)}`);
  const [first, , third] = parts;
  const plural = first === 'namespaces' && third !== undefined ? third : first;
  // One that is served is asked for in a wrong way.
  if (plural === undefined || serves(groupVersion, plural)) return notServed();
  return missing(`this node serves no ${quoted(plural)} in ${groupVersion}`);
}

/** For a path below an object of a kind that is served. */
export function unservedBelow({ kind, subresource = '' }: ApiTarget): ApiError {
  const { plural } = kind.resource;
  // A collection in a namespace has the path of a part of the namespace.
  if (plural === 'namespaces') return missing(`this node serves no ${quoted(subresource)} in v1`);
  const instead = subresource === 'proxy' ? (insteadOfProxy.get(plural) ?? '') : '';
  return missing(`this node serves no ${quoted(subresource)} of ${plural}${instead}`);
}

/** kubectl hides the refusal of this group behind one of its own, and shows warnings. */
export function unservedResponse(
  error: ApiError,
  { method, path }: { method: string; path: string },
): ApiResponse {
  const response = statusResponse(error);
  if (method !== 'POST' || !path.startsWith('/apis/autoscaling/')) return response;
  const warning = `299 - ${JSON.stringify(error.message)}`;
  return { ...response, headers: { ...response.headers, Warning: warning } };
}

function missing(what: string): ApiError {
  const message = `the server could not find the requested resource: ${what}`;
  return new ApiError({ code: 404, reason: 'NotFound', message, details: {} });
}

/** Any text may stand in a path. */
function quoted(name: string): string {
  return JSON.stringify(name.replace(/[^\x20-\x7e]/g, '?').slice(0, longestName));
}
