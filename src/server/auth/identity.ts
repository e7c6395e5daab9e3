/** Users as credentials name them, and the groups of authenticated users. */

export interface UserIdentity {
  readonly user: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

const authenticatedGroup = 'system:authenticated';
const unauthenticatedGroup = 'system:unauthenticated';

export const anonymousIdentity: UserIdentity = { user: 'system:anonymous', groups: [unauthenticatedGroup] };

/** Adds the group of all authenticated users, unless the identity names such a group itself. */
export function recognized(identity: UserIdentity): UserIdentity {
  const { groups } = identity;
  if (groups.includes(authenticatedGroup) || groups.includes(unauthenticatedGroup)) return identity;
  return { ...identity, groups: [...groups, authenticatedGroup] };
}

/** Attributes of a certificate's subject by short name or, where there is none, by object identifier. */
export type SubjectAttributes = Readonly<Record<string, string | readonly string[] | undefined>>;

export type SubjectIdentity =
  | { readonly kind: 'identity'; readonly identity: UserIdentity }
  /** The certificate names no user. */
  | { readonly kind: 'nobody' }
  | { readonly kind: 'invalid'; readonly why: string };

const uidAttribute = '1.3.6.1.4.1.57683.2';
const credentialIdKey = 'authentication.kubernetes.io/credential-id';

export function identityOfSubject(subject: SubjectAttributes, sha256Hex: string): SubjectIdentity {
  const valuesOf = (name: string): readonly string[] => [subject[name] ?? []].flat();
  const user = valuesOf('CN').at(-1) ?? '';
  if (user === '') return { kind: 'nobody' };
  const uids = valuesOf(uidAttribute);
  if (uids.length > 1) return { kind: 'invalid', why: 'the certificate has more than one uid' };
  const [uid] = uids;
  if (uid === '') return { kind: 'invalid', why: 'the uid of the certificate is empty' };
  return {
    kind: 'identity',
    identity: {
      user,
      ...(uid === undefined ? {} : { uid }),
      groups: valuesOf('O'),
      extra: { [credentialIdKey]: [`X509SHA256=${sha256Hex}`] },
    },
  };
}
