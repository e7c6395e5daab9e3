/** The tokens of service accounts: JSON web tokens, signed by the node and bound to what they were made for. */
import { createPrivateKey, createPublicKey, type KeyObject, randomUUID, sign, verify } from 'node:crypto';
import type { Clock } from '../async/index.js';
import type { ApiUser, ServedApi, TokenIssuer } from '../kube-api/index.js';
import { resources } from '../kube-client/index.js';

export interface TokenOptions {
  readonly keyPem: string;
  /** `https://kubernetes.default.svc.cluster.local`, also the audience of tokens that name none. */
  readonly issuer: string;
  readonly clock: Clock;
  /** Whether the objects of a token still exist. */
  readonly api: Pick<ServedApi, 'get'>;
}

const longestToken = 16 * 1024;

interface TokenClaims {
  readonly iss: string;
  readonly aud: readonly string[];
  readonly exp: number;
  readonly nbf: number;
  readonly sub: string;
  readonly 'kubernetes.io': {
    readonly namespace: string;
    readonly serviceaccount: { readonly name: string; readonly uid: string };
    readonly pod?: { readonly name: string; readonly uid: string };
  };
}

export function serviceAccountTokens({ keyPem, issuer, clock, api }: TokenOptions): TokenIssuer {
  const key = createPrivateKey(keyPem);
  const publicKey = createPublicKey(key);
  return {
    issue({ account, audiences, lifeSeconds, pod }) {
      const nowSeconds = Math.floor(clock.now() / 1000);
      const { name = '', namespace = '', uid = '' } = account.metadata;
      const expires = nowSeconds + lifeSeconds;
      const claims = {
        iss: issuer,
        aud: audiences.length === 0 ? [issuer] : audiences,
        exp: expires,
        iat: nowSeconds,
        nbf: nowSeconds,
        jti: randomUUID(),
        sub: `system:serviceaccount:${namespace}:${name}`,
        'kubernetes.io': {
          namespace,
          serviceaccount: { name, uid },
          ...(pod === undefined ? {} : { pod: { name: pod.metadata.name, uid: pod.metadata.uid } }),
        },
      };
      return { token: signed(claims, key), expiresMs: expires * 1000 };
    },

    verify(token, wanted) {
      const claims = readClaims(token, publicKey);
      const nowSeconds = clock.now() / 1000;
      if (
        claims === undefined ||
        claims.iss !== issuer ||
        claims.exp <= nowSeconds ||
        claims.nbf > nowSeconds + 5
      )
        return undefined;
      const audiences = claims.aud.filter((one) =>
        wanted.length === 0 ? one === issuer : wanted.includes(one),
      );
      if (audiences.length === 0 || !exists(claims, api)) return undefined;
      return { user: userOf(claims), audiences };
    },
  };
}

function signed(claims: unknown, key: KeyObject): string {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const body = `${part({ alg: 'ES256', typ: 'JWT' })}.${part(claims)}`;
  const signature = sign('sha256', Buffer.from(body), { key, dsaEncoding: 'ieee-p1363' });
  return `${body}.${signature.toString('base64url')}`;
}

/** Undefined for what this node has not signed. */
function readClaims(token: string, key: KeyObject): TokenClaims | undefined {
  if (token.length > longestToken) return undefined;
  const [head, body, signature, ...rest] = token.split('.');
  if (head === undefined || body === undefined || signature === undefined || rest.length > 0)
    return undefined;
  const isOurs = verify(
    'sha256',
    Buffer.from(`${head}.${body}`),
    { key, dsaEncoding: 'ieee-p1363' },
    Buffer.from(signature, 'base64url'),
  );
  // What we signed has the form that we gave it.
  return isOurs ? (JSON.parse(Buffer.from(body, 'base64url').toString()) as TokenClaims) : undefined;
}

/** A token ends with the account or the pod that it was made for. */
function exists(
  { 'kubernetes.io': { namespace, serviceaccount, pod } }: TokenClaims,
  api: Pick<ServedApi, 'get'>,
): boolean {
  try {
    if (
      api.get(resources.serviceAccounts, { namespace, name: serviceaccount.name }).metadata.uid !==
      serviceaccount.uid
    )
      return false;
    return (
      pod === undefined || api.get(resources.pods, { namespace, name: pod.name }).metadata.uid === pod.uid
    );
  } catch {
    // It is gone.
    return false;
  }
}

function userOf({ sub, 'kubernetes.io': { namespace, serviceaccount, pod } }: TokenClaims): ApiUser {
  return {
    name: sub,
    uid: serviceaccount.uid,
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
    ...(pod === undefined
      ? {}
      : {
          extra: {
            'authentication.kubernetes.io/pod-name': [pod.name],
            'authentication.kubernetes.io/pod-uid': [pod.uid],
          },
        }),
  };
}
