/** Authenticates a request: by certificate first, then by token, else as anonymous. */
import { errorText } from '../../async/index.js';
import type { ServerRequest } from '../routes.js';
import { type BearerTokenResult, bearerToken, webSocketToken, withoutTokens } from './bearer.js';
import type { ClientCertificates } from './client-certificates.js';
import { anonymousIdentity, recognized, type UserIdentity } from './identity.js';
import type { TokenReviews } from './token-reviews.js';

export interface Authenticators {
  readonly certificates?: Pick<ClientCertificates, 'verdictOn'>;
  readonly tokens?: Pick<TokenReviews, 'identityOf'>;
  readonly anonymous: boolean;
}

export type Authentication =
  | {
      readonly kind: 'identity';
      readonly identity: UserIdentity;
      /** Without its token. */
      readonly request: ServerRequest;
    }
  /** The reason contains no secret. */
  | { readonly kind: 'unknown'; readonly because: string };

/** An invalid credential is worse than none: its bearer does not become anonymous. */
export async function authenticate(
  { certificates, tokens, anonymous }: Authenticators,
  request: ServerRequest,
): Promise<Authentication> {
  const problems: string[] = [];
  const certificate = certificates?.verdictOn(request.connection) ?? { kind: 'none' };
  if (certificate.kind === 'identity') {
    return { kind: 'identity', identity: recognized(certificate.identity), request };
  }
  if (certificate.kind === 'invalid') problems.push(`x509: ${certificate.why}`);
  if (tokens !== undefined) {
    for (const find of [bearerToken, webSocketToken]) {
      const outcome = await review(tokens, find(request.headers));
      if (outcome === undefined) continue;
      if (typeof outcome === 'string') problems.push(outcome);
      else return { kind: 'identity', identity: recognized(outcome), request: withoutTokens(request) };
    }
  }
  if (problems.length > 0) return { kind: 'unknown', because: problems.join('; ') };
  if (anonymous) return { kind: 'identity', identity: anonymousIdentity, request };
  return { kind: 'unknown', because: 'no credential was presented' };
}

/** Undefined without a token; the problem as text if it is invalid. */
async function review(
  tokens: Pick<TokenReviews, 'identityOf'>,
  found: BearerTokenResult,
): Promise<UserIdentity | string | undefined> {
  if (found.kind === 'none') return undefined;
  if (found.kind === 'invalid') return found.why;
  try {
    return await tokens.identityOf(found.token);
  } catch (error) {
    return errorText(error);
  }
}
