/** What a path of the API names: a collection, an object, or a subresource of it. */
import type { ServedKind } from '../kinds/served-kind.js';

export interface ApiTarget {
  readonly kind: ServedKind;
  /** Absent: all namespaces, or a kind that has none. */
  readonly namespace?: string;
  /** Absent: the collection. */
  readonly name?: string;
  readonly subresource?: string;
  /** What follows a subresource, as for a proxy. */
  readonly below?: string;
}

/** Finds kinds by group, version and plural. */
export class KindIndex {
  readonly #kinds = new Map<string, ServedKind>();

  constructor(kinds: readonly ServedKind[]) {
    for (const kind of kinds) {
      const { group, version, plural } = kind.resource;
      this.#kinds.set(`${group}/${version}/${plural}`, kind);
    }
  }

  find(group: string, version: string, plural: string): ServedKind | undefined {
    return this.#kinds.get(`${group}/${version}/${plural}`);
  }
}

/** Undefined when the path names nothing that is served. Throws `URIError` on a malformed one. */
export function targetOf(kinds: KindIndex, path: string): ApiTarget | undefined {
  const parts = path
    .split('/')
    .slice(1)
    .map((part) => decodeURIComponent(part));
  if (parts.at(-1) === '') parts.pop();
  const [root] = parts;
  if (root === 'api') return inVersion(kinds, '', parts[1] ?? '', parts.slice(2));
  if (root === 'apis') return inVersion(kinds, parts[1] ?? '', parts[2] ?? '', parts.slice(3));
  return undefined;
}

function inVersion(
  kinds: KindIndex,
  group: string,
  version: string,
  parts: readonly string[],
): ApiTarget | undefined {
  const [first = '', second, third, ...others] = parts;
  const inNamespace =
    first === 'namespaces' && second !== undefined && third !== undefined
      ? kinds.find(group, version, third)
      : undefined;
  // `namespaces/x/status` is a subresource of the namespace, unless there is a kind of that name.
  if (inNamespace?.resource.namespaced === true && second !== undefined)
    return below(inNamespace, second, others);
  const kind = kinds.find(group, version, first);
  return kind === undefined ? undefined : below(kind, undefined, parts.slice(1));
}

function below(
  kind: ServedKind,
  namespace: string | undefined,
  [name, subresource, ...rest]: readonly string[],
): ApiTarget | undefined {
  if (namespace === '' || name === '') return undefined;
  // An object of a namespace is not found without it.
  if (kind.resource.namespaced && namespace === undefined && name !== undefined) return undefined;
  return {
    kind,
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === undefined ? {} : { name }),
    ...(subresource === undefined ? {} : { subresource }),
    ...(rest.length === 0 ? {} : { below: rest.join('/') }),
  };
}
