/**
 * Remembers which authorities verified each connection's certificate, and closes connections whose
 * authorities are no longer current. The TLS library verifies a chain once, in the handshake, with all of its
 * rules (path length, name constraints, purposes); nothing here repeats them, so a verdict counts for its
 * bundle alone.
 */
import { X509Certificate } from 'node:crypto';
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { PeerCertificate, TLSSocket } from 'node:tls';
import type { CaBundle } from './ca-bundle.js';

/** What a client sent in its handshake. */
export interface PeerChain {
  readonly leaf: X509Certificate;
  readonly intermediates: readonly X509Certificate[];
}

/** A handshake with a client certificate. */
export interface TlsHandshake {
  /** The authorities that verified it. */
  readonly bundle: CaBundle;
  readonly peer: PeerChain;
}

/** Whether any chain of the client's certificate still leads to the bundle. */
export type LeadsTo = (peer: PeerChain, bundle: CaBundle) => boolean;

interface SecuredConnection extends TlsHandshake {
  /** Pending responses. */
  readonly responses: Set<ServerResponse>;
  upgraded: boolean;
  /** Closes after its last response. */
  retired: boolean;
}

export class HandshakeAuthorities {
  /** By the client's endpoint, which is the same for a connection and for the TLS in it. */
  readonly #handshakes = new Map<string, CaBundle>();
  readonly #secured = new Map<TLSSocket, SecuredConnection>();
  readonly #current: () => CaBundle | undefined;

  constructor(current: () => CaBundle | undefined) {
    this.#current = current;
  }

  /** The connection's handshake starts, and uses this bundle whenever it ends. */
  begins(socket: Socket, bundle: CaBundle): void {
    const end = clientEnd(socket);
    this.#handshakes.set(end, bundle);
    socket.once('close', () => {
      if (this.#handshakes.get(end) === bundle) this.#handshakes.delete(end);
    });
  }

  follow(server: Server): void {
    server.on('secureConnection', (connection: TLSSocket) => this.#secure(connection));
    server.on('request', ({ socket }, response) => {
      // TLS servers pass TLS sockets under a wider type.
      const secured = this.#secured.get(socket as TLSSocket);
      if (secured === undefined) return;
      secured.responses.add(response);
      if (secured.retired) response.shouldKeepAlive = false;
      response.once('close', () => {
        secured.responses.delete(response);
        if (secured.retired && secured.responses.size === 0) socket.destroySoon();
      });
    });
    // If it were the only listener, it would keep the server from responding.
    server.once('listening', () => {
      if (server.listenerCount('upgrade') === 0) return;
      server.prependListener('upgrade', (_, socket: Duplex) => {
        const secured = this.#secured.get(socket as TLSSocket);
        if (secured !== undefined) secured.upgraded = true;
      });
    });
  }

  handshakeOf(connection: TLSSocket): TlsHandshake | undefined {
    return this.#secured.get(connection);
  }

  /**
   * The current authorities changed. A client whose certificate leads to none of them is cut off, even in the
   * middle of a stream. Others have to reconnect after their pending responses; their streams go on.
   */
  changed(leadsTo: LeadsTo): void {
    const bundle = this.#current();
    for (const [connection, secured] of this.#secured) {
      if (secured.bundle === bundle) continue;
      if (bundle === undefined || !leadsTo(secured.peer, bundle)) connection.destroy();
      else this.#retire(connection, secured);
    }
  }

  #secure(connection: TLSSocket): void {
    const end = clientEnd(connection);
    const bundle = this.#handshakes.get(end);
    this.#handshakes.delete(end);
    const peer = bundle === undefined ? undefined : peerChain(connection);
    // Without a certificate there is no verdict that could become stale.
    if (bundle === undefined || peer === undefined) return;
    if (bundle !== this.#current()) {
      connection.destroy();
      return;
    }
    this.#secured.set(connection, { bundle, peer, responses: new Set(), upgraded: false, retired: false });
    connection.once('close', () => this.#secured.delete(connection));
  }

  #retire(connection: TLSSocket, secured: SecuredConnection): void {
    secured.retired = true;
    if (secured.upgraded) return;
    if (secured.responses.size === 0) connection.destroySoon();
    for (const response of secured.responses) response.shouldKeepAlive = false;
  }
}

const mostIntermediates = 8;

/**
 * Not `getPeerX509Certificate`: depending on the Node version it gives no issuers, or only the first time.
 */
function peerChain(connection: TLSSocket): PeerChain | undefined {
  let current: PeerCertificate & { issuerCertificate?: PeerCertificate } =
    connection.getPeerCertificate(true);
  // The declared type promises bytes; a client without a certificate has none.
  if ((current.raw as Buffer | undefined) === undefined) return undefined;
  const leaf = new X509Certificate(current.raw);
  const intermediates: X509Certificate[] = [];
  while (intermediates.length < mostIntermediates) {
    const issuer = current.issuerCertificate;
    // A root is its own issuer.
    if (issuer?.raw === undefined || issuer.raw.equals(current.raw)) break;
    intermediates.push(new X509Certificate(issuer.raw));
    current = issuer;
  }
  return { leaf, intermediates };
}

function clientEnd({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
