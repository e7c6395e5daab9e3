/** The user that an owner of the node acts as: `kubectl --as`. */
import type { IncomingHttpHeaders } from 'node:http';
import { type ApiUser, ownersGroup } from '../kube-api/index.js';

export type ActingUser =
  | { readonly kind: 'user'; readonly user: ApiUser }
  /** Why this user may act as nobody else. */
  | { readonly kind: 'refused'; readonly because: string };

const authenticatedGroup = 'system:authenticated';
const anonymous = 'system:anonymous';
const accountName = /^system:serviceaccount:([^:]+):[^:]+$/;
const headers = ['impersonate-user', 'impersonate-group', 'impersonate-uid'] as const;

/** The user of the request, unless its headers name another one. Extra headers of that kind are refused, never ignored. */
export function actingUser(user: ApiUser, given: IncomingHttpHeaders): ActingUser {
  const names = Object.keys(given).filter((name) => name.startsWith('impersonate-'));
  if (names.length === 0) return { kind: 'user', user };
  if (!user.groups.includes(ownersGroup))
    return { kind: 'refused', because: `${user.name} may not act as another user` };
  const unknown = names.find((name) => !headers.some((known) => known === name));
  if (unknown !== undefined)
    return { kind: 'refused', because: `the header ${unknown} is not supported here` };
  const name = String(given['impersonate-user'] ?? '');
  if (name === '') return { kind: 'refused', because: 'the header Impersonate-User is missing' };
  const groups = valuesOf(given['impersonate-group']);
  const uid = given['impersonate-uid'];
  return {
    kind: 'user',
    user: {
      name,
      groups: name === anonymous ? ['system:unauthenticated'] : [...groups, ...implied(name, groups)],
      ...(typeof uid === 'string' ? { uid } : {}),
    },
  };
}

function implied(name: string, groups: readonly string[]): string[] {
  const [, namespace] = accountName.exec(name) ?? [];
  const ofAccount =
    namespace === undefined || groups.length > 0
      ? []
      : ['system:serviceaccounts', `system:serviceaccounts:${namespace}`];
  return groups.includes(authenticatedGroup) ? ofAccount : [...ofAccount, authenticatedGroup];
}

/** Node joins the values of a header that is sent more than once. */
function valuesOf(value: string | readonly string[] | undefined): string[] {
  return [value ?? []]
    .flat()
    .flatMap((one) => one.split(','))
    .map((one) => one.trim())
    .filter((one) => one !== '');
}
