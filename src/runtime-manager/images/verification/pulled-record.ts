/**
 * What is recorded of an image's pull, and whether it lets a pod use the image without asking the registry.
 */
import type { PullSecretSource, ServiceAccountSource } from '../../contracts.js';
import { imageCredentialLimits } from '../limits.js';
import { normalRepository } from '../reference.js';

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

/** What a pull was authorized with: a pod's secret or account, or the node's credentials, which may be none. */
export type PullAccess =
  | { readonly kind: 'node' }
  | { readonly kind: 'serviceAccount'; readonly account: ServiceAccountSource }
  | { readonly kind: 'secret'; readonly secret: PullSecretSource };

/** Secrets remembered per image name; further ones have to ask the registry each time. */
const mostSecrets = imageCredentialLimits.recordedSecrets;
/** The same for service accounts. */
const mostServiceAccounts = imageCredentialLimits.recordedServiceAccounts;

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

/** Whether a pod's account could make a difference, so that it is worth the while to ask plugins about it. */
export function recordsServiceAccounts(record: PulledRecord | undefined, image: string): boolean {
  const access = record?.credentialMapping[normalRepository(image)];
  return access?.nodePodsAccessible !== true && (access?.kubernetesServiceAccounts ?? []).length > 0;
}

/** Whether plugins are known to give access to the image to the account. */
export function judgeServiceAccount(
  record: PulledRecord | undefined,
  image: string,
  account: ServiceAccountSource | undefined,
): AccessVerdict {
  const { kubernetesServiceAccounts: known = [] } = record?.credentialMapping[normalRepository(image)] ?? {};
  const isKnown = account !== undefined && known.some((one) => isSamePlace(one, account));
  return isKnown ? { kind: 'use' } : { kind: 'pull' };
}

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
  if (access.kind === 'serviceAccount') {
    const accounts = before?.kubernetesServiceAccounts ?? [];
    const isKnown = accounts.some((one) => isSamePlace(one, access.account));
    if (before !== undefined && (isKnown || accounts.length >= mostServiceAccounts)) return before;
    return { ...before, kubernetesServiceAccounts: [...accounts, access.account].sort(byPlace) };
  }
  const { secret } = access;
  const known = before?.kubernetesSecrets ?? [];
  if (known.some((one) => isSamePlace(one, secret) && one.credentialHash === secret.credentialHash)) {
    return before ?? {};
  }
  const others = known.filter((one) => !isSamePlace(one, secret));
  return { ...before, kubernetesSecrets: [...others, secret].sort(byPlace) };
}

function isSamePlace(a: ServiceAccountSource, b: ServiceAccountSource): boolean {
  return a.uid === b.uid && a.namespace === b.namespace && a.name === b.name;
}

function byPlace(a: ServiceAccountSource, b: ServiceAccountSource): number {
  const place = ({ namespace, name, uid }: ServiceAccountSource): string =>
    [namespace, name, uid].join('\u0000');
  return place(a) < place(b) ? -1 : 1;
}
