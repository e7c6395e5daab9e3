/**
 * What is recorded of an image's pull, and whether it lets a pod use the image without asking the registry.
 */
import type { PullSecretSource } from '../../contracts.js';
import { normalRepository } from '../reference.js';

export interface ServiceAccountSource {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** Who may use an image of one name: every pod of the node, or those with one of the credentials. */
export interface RecordedAccess {
  readonly nodePodsAccessible?: boolean;
  readonly kubernetesSecrets?: readonly PullSecretSource[];
  readonly kubernetesServiceAccounts?: readonly ServiceAccountSource[];
}

export interface PulledRecord {
  /** RFC 3339. */
  readonly lastUpdatedTime: string;
  readonly imageRef: string;
  /** Keyed by image name without tag and digest. */
  readonly credentialMapping: Readonly<Record<string, RecordedAccess>>;
}

/** What a pull was authorized with: a pod's secret, or the node's credentials, which may be none. */
export type PullAccess =
  | { readonly kind: 'node' }
  | { readonly kind: 'secret'; readonly secret: PullSecretSource };

/** Secrets remembered per image name; further ones have to ask the registry each time. */
const mostSecrets = 100;

export type VerificationPolicy =
  | 'NeverVerify'
  | 'NeverVerifyPreloadedImages'
  | 'NeverVerifyAllowlistedImages'
  | 'AlwaysVerify';

/** Whether pods have to present credentials for an image that is present. */
export function needsVerification(
  policy: VerificationPolicy,
  image: string,
  { pulledByAgent, allowlist }: { readonly pulledByAgent: boolean; readonly allowlist: readonly string[] },
): boolean {
  switch (policy) {
    case 'NeverVerify':
      return false;
    case 'NeverVerifyPreloadedImages':
      return pulledByAgent;
    case 'NeverVerifyAllowlistedImages':
      return !isAllowlisted(image, allowlist);
    case 'AlwaysVerify':
      return true;
  }
}

function isAllowlisted(image: string, allowlist: readonly string[]): boolean {
  const name = normalRepository(image);
  return allowlist.some((entry) =>
    entry.endsWith('/*') ? name.startsWith(entry.slice(0, -1)) : name === entry,
  );
}

export type AccessVerdict =
  | { readonly kind: 'pull' }
  /** `learned` is the secret to add to the record, which lacks this version of it. */
  | { readonly kind: 'use'; readonly learned?: PullSecretSource };

/** Whether one of a pod's secrets is known to give access to the image. */
export function judgeAccess(
  record: PulledRecord | undefined,
  image: string,
  secrets: readonly PullSecretSource[],
): AccessVerdict {
  const access = record?.credentialMapping[normalRepository(image)];
  if (access === undefined) return { kind: 'pull' };
  if (access.nodePodsAccessible === true) return { kind: 'use' };
  const { kubernetesSecrets: known = [] } = access;
  const hasRoom = known.length < mostSecrets;
  for (const secret of secrets) {
    for (const one of known) {
      const sameHash = one.credentialHash !== '' && one.credentialHash === secret.credentialHash;
      const samePlace = isSamePlace(one, secret);
      if (sameHash && samePlace) return { kind: 'use' };
      if (sameHash) return hasRoom ? { kind: 'use', learned: secret } : { kind: 'use' };
      // Same secret, new content: whoever may change the secret had access with its old content.
      if (samePlace && hasRoom) return { kind: 'use', learned: secret };
    }
  }
  return { kind: 'pull' };
}

/** The record with one more access added; the same object when that adds nothing. */
export function withAccess(
  record: PulledRecord | undefined,
  {
    image,
    imageRef,
    access,
    now,
  }: {
    readonly image: string;
    readonly imageRef: string;
    readonly access: PullAccess | undefined;
    readonly now: string;
  },
): PulledRecord {
  const name = normalRepository(image);
  const before = record?.credentialMapping[name];
  const after = access === undefined ? (before ?? {}) : merged(before, access);
  if (record !== undefined && before === after) return record;
  return {
    lastUpdatedTime: now,
    imageRef,
    credentialMapping: { ...record?.credentialMapping, [name]: after },
  };
}

function merged(before: RecordedAccess | undefined, access: PullAccess): RecordedAccess {
  if (before?.nodePodsAccessible === true) return before;
  if (access.kind === 'node') return { nodePodsAccessible: true };
  const { secret } = access;
  const known = before?.kubernetesSecrets ?? [];
  if (known.some((one) => isSamePlace(one, secret) && one.credentialHash === secret.credentialHash)) {
    return before ?? {};
  }
  const others = known.filter((one) => !isSamePlace(one, secret));
  return { ...before, kubernetesSecrets: [...others, secret].sort(byPlace) };
}

function isSamePlace(a: PullSecretSource, b: PullSecretSource): boolean {
  return a.uid === b.uid && a.namespace === b.namespace && a.name === b.name;
}

function byPlace(a: PullSecretSource, b: PullSecretSource): number {
  const place = ({ namespace, name, uid }: PullSecretSource): string => [namespace, name, uid].join('\u0000');
  return place(a) < place(b) ? -1 : 1;
}
