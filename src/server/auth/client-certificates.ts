/**
 * Identifies a TLS client by its certificate, checked on each request against the currently trusted
 * authorities.
 */
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import type { Clock } from '../../async/index.js';
import { type AuthMetrics, createAuthMetrics } from '../metrics.js';
import type { CaBundle } from '../tls/ca-bundle.js';
import type { PeerChain, TlsHandshake } from '../tls/handshake-authorities.js';
import { verifyClientChain } from './certificate-chain.js';
import { identityOfSubject, type SubjectAttributes, type UserIdentity } from './identity.js';

export type CertificateVerdict =
  | { readonly kind: 'none' }
  | { readonly kind: 'identity'; readonly identity: UserIdentity }
  | { readonly kind: 'invalid'; readonly why: string };

interface CachedCertificateVerdict {
  readonly bundle: CaBundle;
  readonly verdict: CertificateVerdict;
  readonly untilMs: number;
  /** When the certificate of an identity ends. */
  readonly expiresMs?: number;
}

export interface ClientCertificatesOptions {
  readonly clock: Clock;
  /** Undefined while no authority is trusted. */
  readonly bundle: () => CaBundle | undefined;
  /** Undefined for a connection without a client certificate. */
  readonly handshakeOf: (connection: TLSSocket) => TlsHandshake | undefined;
  /** Default: metrics that nobody reads. */
  readonly metrics?: Pick<AuthMetrics, 'certificateLife'>;
}

export class ClientCertificates {
  readonly #options: ClientCertificatesOptions;
  readonly #remembered = new WeakMap<TLSSocket, CachedCertificateVerdict>();

  readonly #life: AuthMetrics['certificateLife'];

  constructor(options: ClientCertificatesOptions) {
    this.#options = options;
    this.#life = (options.metrics ?? createAuthMetrics()).certificateLife;
  }

  verdictOn(connection: Duplex | undefined): CertificateVerdict {
    const { clock, bundle: current } = this.#options;
    const bundle = current();
    if (bundle === undefined || !(connection instanceof TLSSocket)) return { kind: 'none' };
    const known = this.#remembered.get(connection);
    const isValid = known !== undefined && known.bundle === bundle && clock.now() <= known.untilMs;
    const judged = isValid ? known : this.#judge(connection, bundle);
    if (!isValid) this.#remembered.set(connection, judged);
    if (judged.expiresMs !== undefined) this.#life.observe((judged.expiresMs - clock.now()) / 1000);
    return judged.verdict;
  }

  #judge(connection: TLSSocket, bundle: CaBundle): CachedCertificateVerdict {
    const settled = (
      verdict: CertificateVerdict,
      untilMs = Number.POSITIVE_INFINITY,
    ): CachedCertificateVerdict => ({
      bundle,
      verdict,
      untilMs,
    });
    const handshake = this.#options.handshakeOf(connection);
    if (handshake === undefined) return settled({ kind: 'none' });
    // Only the TLS library checks everything in a chain, and only in the handshake.
    if (handshake.bundle !== bundle) {
      return settled({ kind: 'invalid', why: 'the authorities changed since the handshake; connect again' });
    }
    if (!connection.authorized) {
      return settled({ kind: 'invalid', why: String(connection.authorizationError) });
    }
    const { peer } = handshake;
    const nowMs = this.#options.clock.now();
    const chain = verifyClientChain({ ...peer, roots: bundle.certificates, nowMs });
    // Node 24 does not expose the intermediates that a client sent: the library has seen them, and we cannot
    // rebuild the chain.
    const isUnseen =
      chain.kind === 'untrusted' && chain.reason === 'no-way' && peer.intermediates.length === 0;
    if (chain.kind === 'untrusted' && !isUnseen) return settled({ kind: 'invalid', why: chain.why });
    const untilMs = chain.kind === 'trusted' ? chain.untilMs : Date.parse(peer.leaf.validTo);
    const { subject } = peer.leaf.toLegacyObject();
    const found = identityOfSubject(
      // Attributes may have one value or several, although the declared type knows only the common ones.
      subject as unknown as SubjectAttributes,
      peer.leaf.fingerprint256.replaceAll(':', '').toLowerCase(),
    );
    if (found.kind === 'nobody') return settled({ kind: 'none' }, untilMs);
    return { ...settled(found, untilMs), expiresMs: Date.parse(peer.leaf.validTo) };
  }
}

/** Whether the client's certificate chains to the bundle; the TLS library may still reject the chain. */
export function leadsTo(peer: PeerChain, { certificates }: CaBundle, nowMs: number): boolean {
  return verifyClientChain({ ...peer, roots: certificates, nowMs }).kind === 'trusted';
}
