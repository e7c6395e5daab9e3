/** TLS for a listener: the certificate is asked for with each connection, so that it may be replaced at any time. */
import { constants } from 'node:crypto';
import { createServer, type Server as HttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { SecureContextOptions, TLSSocket } from 'node:tls';
import type { Timeline } from '../../timeline/index.js';
import type { SecureServing } from '../listen.js';
import type { CaBundle } from './ca-bundle.js';
import { type Handshake, HandshakeAuthorities, type LeadsTo } from './handshake-authorities.js';
import type { TlsSettings } from './settings.js';

/** In PEM: the certificate followed by those of its issuers, and its key. */
export interface ServingCertificate {
  readonly certificatePem: string;
  readonly keyPem: string;
}

export interface SecureServingOptions {
  /** The certificate to show now; the same object as long as it is the same one. Undefined while there is none. */
  readonly certificate: () => ServingCertificate | undefined;
  /** Clients are asked for a certificate only where there are authorities to judge it by. */
  readonly clientCa?: (() => CaBundle) | undefined;
  readonly settings: TlsSettings;
  readonly timeline: Timeline;
}

export interface TlsServing extends SecureServing {
  /** Undefined for a connection whose client showed no certificate. */
  handshakeOf(connection: TLSSocket): Handshake | undefined;
  /** To be called when `clientCa` returns others than before. */
  authoritiesChanged(leadsTo: LeadsTo): void;
}

const handshakeTimeoutMs = 10_000;
/** A fatal alert, `internal_error`: all that can be said to a client without a certificate. */
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
    // A resumed session would bring the judgement of its certificate from a time with other authorities. Another
    // handshake on an open connection costs the server far more than the client.
    secureOptions: constants.SSL_OP_NO_TICKET | constants.SSL_OP_NO_RENEGOTIATION,
  };

  const present = (server: HttpsServer, pair: ServingCertificate): void => {
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
  const presented: { pair?: ServingCertificate; ca?: CaBundle | undefined } = {};
  /** Told once for each time without a certificate: clients try again and again. */
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
        // Clients without a certificate, or with one that does not hold, may have a token.
        requestCert: clientCa !== undefined,
        rejectUnauthorized: false,
        // Upgrades need HTTP/1.1, and so nothing else is on offer.
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
      // A client that gives up or does not speak TLS is no trouble of ours; Node closes its connection.
      server.on('tlsClientError', (_, connection) => connection.destroy());
      return server;
    },
  };
}

/** Waits for what the client says first: closing with bytes unread would cost it the alert. */
function refuseHandshake(socket: Socket, onRefusal: () => void): void {
  socket.on('error', () => socket.destroy());
  socket.setTimeout(handshakeTimeoutMs, () => socket.destroy());
  socket.once('data', () => {
    onRefusal();
    socket.end(internalErrorAlert, () => socket.destroySoon());
  });
}
