/** TLS for a listener: reads the certificate for each connection, so that it may be replaced at any time. */
import { constants } from 'node:crypto';
import { createServer, type Server as HttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { SecureContextOptions, TLSSocket } from 'node:tls';
import type { Timeline } from '../../timeline/index.js';
import type { SecureServing } from '../listen.js';
import type { CaBundle } from './ca-bundle.js';
import { HandshakeAuthorities, type LeadsTo, type TlsHandshake } from './handshake-authorities.js';
import type { TlsSettings } from './settings.js';

/** PEM: the certificate followed by its issuers, and its key. */
export interface ServingKeyPair {
  readonly certificatePem: string;
  readonly keyPem: string;
}

export interface SecureServingOptions {
  /**
   * The current serving certificate; the same object while it does not change. Undefined while there is none.
   */
  readonly certificate: () => ServingKeyPair | undefined;
  /** Clients are asked for a certificate only if there are authorities to verify it. */
  readonly clientCa?: (() => CaBundle) | undefined;
  readonly settings: TlsSettings;
  readonly timeline: Timeline;
}

export interface TlsServing extends SecureServing {
  /** Undefined for a connection without a client certificate. */
  handshakeOf(connection: TLSSocket): TlsHandshake | undefined;
  /** Call when `clientCa` returns a new bundle. */
  authoritiesChanged(leadsTo: LeadsTo): void;
}

const handshakeTimeoutMs = 10_000;
/** A fatal alert, `internal_error`: all that a server without a certificate can send. */
const internalErrorAlert = Buffer.from([0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x50]);

export function secureServing(options: SecureServingOptions): TlsServing {
  const { certificate, clientCa, settings, timeline } = options;
  const authorities = new HandshakeAuthorities(() => clientCa?.());
  const pending = new Set<Socket>();
  const { minVersion, ciphers, ecdhCurve } = settings;
  const fixed: SecureContextOptions = {
    minVersion,
    ciphers,
    ...(ecdhCurve === undefined ? {} : { ecdhCurve }),
    // A resumed session would keep a verdict by older authorities. A renegotiation costs the server far more
    // than the client.
    secureOptions: constants.SSL_OP_NO_TICKET | constants.SSL_OP_NO_RENEGOTIATION,
  };

  const present = (server: HttpsServer, pair: ServingKeyPair): void => {
    const ca = clientCa?.();
    if (pair === presented.pair && ca === presented.ca) return;
    server.setSecureContext({
      ...fixed,
      cert: pair.certificatePem,
      key: pair.keyPem,
      ...(ca === undefined ? {} : { ca: ca.pem }),
    });
    presented.pair = pair;
    presented.ca = ca;
  };
  const presented: { pair?: ServingKeyPair; ca?: CaBundle | undefined } = {};
  /** Reported once per period without a certificate: clients retry again and again. */
  let refusalTold = false;
  const onRefusal = (): void => {
    if (refusalTold) return;
    refusalTold = true;
    timeline.record({
      kind: 'decision',
      what: 'server.tls',
      message: 'refused a TLS handshake',
      because: 'no serving certificate available for the kubelet',
      level: 'warn',
    });
  };

  return {
    handshakeOf: (connection) => authorities.handshakeOf(connection),
    authoritiesChanged: (leadsTo) => authorities.changed(leadsTo),
    endHandshakes() {
      for (const socket of pending) socket.destroy();
    },
    createServer(serverOptions) {
      const server = createServer({
        ...serverOptions,
        ...fixed,
        handshakeTimeout: handshakeTimeoutMs,
        // Clients without a certificate, or with an invalid one, may have a token.
        requestCert: clientCa !== undefined,
        rejectUnauthorized: false,
        // Upgrades need HTTP/1.1, so nothing else is offered.
        ALPNProtocols: ['http/1.1'],
      });
      const secure = server.listeners('connection');
      server.removeAllListeners('connection');
      server.on('connection', (socket: Socket) => {
        pending.add(socket);
        socket.once('close', () => pending.delete(socket));
        try {
          const pair = certificate();
          if (pair === undefined) return refuseHandshake(socket, onRefusal);
          present(server, pair);
          if (presented.ca !== undefined) authorities.begins(socket, presented.ca);
          refusalTold = false;
        } catch (error) {
          const message = 'the serving certificate cannot be used';
          if (!refusalTold) timeline.record({ kind: 'problem', what: 'server.tls', message, error });
          return refuseHandshake(socket, onRefusal);
        }
        for (const listener of secure) listener.call(server, socket);
      });
      authorities.follow(server);
      // A client that gives up or does not speak TLS is not our problem; Node closes its connection.
      server.on('tlsClientError', (_, connection) => connection.destroy());
      return server;
    },
  };
}

/** Waits for the client's first bytes: closing with bytes unread would lose the alert. */
function refuseHandshake(socket: Socket, onRefusal: () => void): void {
  socket.on('error', () => socket.destroy());
  socket.setTimeout(handshakeTimeoutMs, () => socket.destroy());
  socket.once('data', () => {
    onRefusal();
    socket.end(internalErrorAlert, () => socket.destroySoon());
  });
}
