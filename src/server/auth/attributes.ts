/** What a request asks to be allowed, as the API server's authorizers understand it: verbs and subresources of the node. */

export interface NodeAttributes {
  /** Empty for methods that stand for none. */
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

/** The first that is under one of the paths names the subresources to ask for, in order; one is enough. */
const subresourceTable: readonly (readonly [path: string, subresources: readonly string[]])[] = [
  ['/pods', ['pods', 'proxy']],
  ['/runningpods', ['pods', 'proxy']],
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
