/** What a request to the API would do, in the words that access is decided by. */
import { type KindIndex, targetOf } from '../kube-api/http/target.js';

const objectVerbs: ReadonlyMap<string, string> = new Map([
  ['GET', 'get'],
  ['HEAD', 'get'],
  ['POST', 'create'],
  ['PUT', 'update'],
  ['PATCH', 'patch'],
  ['DELETE', 'delete'],
]);

export interface ApiAccess {
  readonly verb: string;
  /** With its subresource; absent for a path that is no resource. */
  readonly resource?: string;
  readonly path?: string;
}

export function accessRequest(
  kinds: KindIndex,
  method: string,
  path: string,
  query: URLSearchParams,
): ApiAccess {
  const verb = objectVerbs.get(method) ?? method.toLowerCase();
  // Reviews are posted, and not among the kinds that are stored.
  const [, review] =
    /^\/apis\/auth(?:entication|orization)\.k8s\.io\/v1\/(?:namespaces\/[^/]+\/)?([a-z]+)$/.exec(path) ?? [];
  if (review !== undefined) return { verb, resource: review };
  const target = found(kinds, path);
  if (target === undefined) return { verb, path };
  const { kind, name, subresource } = target;
  const { plural } = kind.resource;
  const resource = subresource === undefined ? plural : `${plural}/${subresource}`;
  if (name !== undefined || method === 'POST') return { verb, resource };
  if (verb === 'get') return { verb: query.get('watch') === null ? 'list' : 'watch', resource };
  return { verb: verb === 'delete' ? 'deletecollection' : verb, resource };
}

function found(kinds: KindIndex, path: string): ReturnType<typeof targetOf> {
  try {
    return targetOf(kinds, path);
  } catch {
    // A malformed path is nothing that could be protected; its answer says so.
    return undefined;
  }
}
