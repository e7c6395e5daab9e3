/** Maps a request to the attributes that the API server authorizes: verbs and subresources of the node. */

export interface NodeAttributes {
  /** Empty for methods without a verb. */
  readonly verb: string;
  readonly subresource: string;
}

const verbs: ReadonlyMap<string, string> = new Map([
  ['POST', 'create'],
  ['GET', 'get'],
  ['PUT', 'update'],
  ['PATCH', 'patch'],
  ['DELETE', 'delete'],
]);

/** The first entry whose path matches gives the subresources to check, in order; one is enough. */
const subresourceTable: readonly (readonly [path: string, subresources: readonly string[]])[] = [
  ['/pods', ['pods', 'proxy']],
  ['/runningpods', ['pods', 'proxy']],
  ['/allocatedPods', ['pods', 'proxy']],
  ['/healthz', ['healthz', 'proxy']],
  ['/configz', ['configz', 'proxy']],
  ['/flagz', ['configz']],
  ['/statusz', ['statusz']],
  ['/stats', ['stats']],
  ['/metrics', ['metrics']],
  ['/logs', ['log']],
  ['/checkpoint', ['checkpoint']],
];
const everythingElse: readonly string[] = ['proxy'];

export function attributesOf(method: string, path: string): readonly NodeAttributes[] {
  const verb = verbs.get(method) ?? '';
  const [, subresources] =
    subresourceTable.find(([prefix]) => path === prefix || path.startsWith(`${prefix}/`)) ?? [];
  return (subresources ?? everythingElse).map((subresource) => ({ verb, subresource }));
}
