/**
 * Identifies a TLS client by its certificate, checked on each request against the currently trusted
 * authorities.
 */
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import type { Clock } from '../../async/index.js';
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
}

export interface ClientCertificatesOptions {
  readonly clock: Clock;
  /** Undefined while no authority is trusted. */
  readonly bundle: () => CaBundle | undefined;
  /** Undefined for a connection without a client certificate. */
  readonly handshakeOf: (connection: TLSSocket) => TlsHandshake | undefined;
}

export class ClientCertificates {
  readonly #options: ClientCertificatesOptions;
  readonly #remembered = new WeakMap<TLSSocket, CachedCertificateVerdict>();

  constructor(options: ClientCertificatesOptions) {
    this.#options = options;
  }

  verdictOn(connection: Duplex | undefined): CertificateVerdict {
    const { clock, bundle: current } = this.#options;
    const bundle = current();
    if (bundle === undefined || !(connection instanceof TLSSocket)) return { kind: 'none' };
    const known = this.#remembered.get(connection);
    if (known !== undefined && known.bundle === bundle && clock.now() <= known.untilMs) return known.verdict;
    const judged = this.#judge(connection, bundle);
    this.#remembered.set(connection, judged);
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
    return settled(found.kind === 'nobody' ? { kind: 'none' } : found, untilMs);
  }
}

/** Whether the client's certificate chains to the bundle; the TLS library may still reject the chain. */
export function leadsTo(peer: PeerChain, { certificates }: CaBundle, nowMs: number): boolean {
  return verifyClientChain({ ...peer, roots: certificates, nowMs }).kind === 'trusted';
}
