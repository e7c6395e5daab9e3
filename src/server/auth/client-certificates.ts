/** Who a TLS client is by its certificate, checked with each request against the authorities that are trusted now. */
import { X509Certificate } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { type PeerCertificate, TLSSocket } from 'node:tls';
import type { Clock } from '../../async/index.js';
import type { CaBundle } from '../tls/ca-bundle.js';
import { verifyClientChain } from './certificate-chain.js';
import { type Identity, identityOfSubject, type SubjectAttributes } from './identity.js';

export type CertificateVerdict =
  | { readonly kind: 'none' }
  | { readonly kind: 'identity'; readonly identity: Identity }
  | { readonly kind: 'invalid'; readonly why: string };

interface Remembered {
  readonly bundle: CaBundle;
  readonly verdict: CertificateVerdict;
  readonly untilMs: number;
}

export interface ClientCertificatesOptions {
  readonly clock: Clock;
  /** Undefined while no authority is trusted. */
  readonly bundle: () => CaBundle | undefined;
  /** The bundle that the connection's handshake was done with. */
  readonly handshakeBundle: (connection: TLSSocket) => CaBundle | undefined;
}

export class ClientCertificates {
  readonly #options: ClientCertificatesOptions;
  readonly #remembered = new WeakMap<TLSSocket, Remembered>();

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

  #judge(connection: TLSSocket, bundle: CaBundle): Remembered {
    const leaf = connection.getPeerX509Certificate();
    const settled = (verdict: CertificateVerdict, untilMs = Number.POSITIVE_INFINITY): Remembered => ({
      bundle,
      verdict,
      untilMs,
    });
    if (leaf === undefined) return settled({ kind: 'none' });
    const chain = verifyClientChain({
      leaf,
      intermediates: sentIntermediates(connection),
      roots: bundle.certificates,
      nowMs: this.#options.clock.now(),
    });
    if (chain.kind === 'untrusted') return settled({ kind: 'invalid', why: chain.why });
    // The TLS library looks at more than the chain does, but only at the authorities of its day.
    const sameBundle = this.#options.handshakeBundle(connection) === bundle;
    if (sameBundle && !connection.authorized) {
      return settled({ kind: 'invalid', why: String(connection.authorizationError) });
    }
    const { subject } = leaf.toLegacyObject();
    const found = identityOfSubject(
      // Names of attributes with one value or several, although the declared type knows only the common ones.
      subject as unknown as SubjectAttributes,
      leaf.fingerprint256.replaceAll(':', '').toLowerCase(),
    );
    return settled(found.kind === 'nobody' ? { kind: 'none' } : found, chain.untilMs);
  }
}

const mostIntermediates = 8;

function sentIntermediates(connection: TLSSocket): X509Certificate[] {
  const found: X509Certificate[] = [];
  let current: PeerCertificate & { issuerCertificate?: PeerCertificate } =
    connection.getPeerCertificate(true);
  while (found.length < mostIntermediates) {
    const issuer = current.issuerCertificate;
    // A root names itself as its issuer.
    if (issuer === undefined || issuer.raw === undefined || issuer.raw.equals(current.raw)) break;
    found.push(new X509Certificate(issuer.raw));
    current = issuer;
  }
  return found;
}
