/** Connections to the API server: kept open while the identity they were made with is current. */
import { type ClientRequest, Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Socket } from 'node:net';
import { createSecureContext, rootCertificates } from 'node:tls';
import type { ClientCertificate } from './credentials.js';
import type { ClusterEndpoint } from './kubeconfig.js';
import type { ApiRequestMetrics } from './metrics.js';
import { strongClientTls } from './tls-suites.js';

/** What a connection is made with. */
export interface TlsIdentity {
  readonly authorityPem: string | undefined;
  readonly clientCertificate: ClientCertificate | undefined;
}

const mostCallConnections = 24;
/** As many as are in use when many pods change, so that calls rarely need a new one. */
const mostIdleConnections = 12;
/**
 * Below the 90 s after which the server closes an idle connection, so that requests rarely hit that moment.
 */
const idleTimeoutMs = 45_000;
/** Much less than the timeout of a call. */
const sharedLookMs = 100;

interface ConnectionGeneration {
  readonly identity: TlsIdentity;
  readonly calls: HttpAgent;
  /** Separate from the calls, as watches hold their connections for minutes. */
  readonly watches: HttpAgent;
  readonly openWatches: Set<ClientRequest>;
}

export class ApiConnections {
  readonly #endpoint: ClusterEndpoint;
  #current: ConnectionGeneration | undefined;
  #lastLook: { readonly atMs: number; readonly received: ReadonlyMap<Socket, number> } = {
    atMs: Number.NEGATIVE_INFINITY,
    received: new Map(),
  };

  constructor(
    endpoint: ClusterEndpoint,
    readonly metrics: Pick<ApiRequestMetrics, 'transports' | 'transportCalls'>,
  ) {
    this.#endpoint = endpoint;
  }

  /** The agent for a request with this identity; a new identity retires the old one's connections. */
  agent(identity: TlsIdentity, purpose: 'call' | 'watch'): HttpAgent {
    if (this.#current === undefined || !isSame(this.#current.identity, identity)) {
      this.retire();
      this.#current = this.#open(identity);
      this.metrics.transports.inc();
      this.metrics.transportCalls.inc({ result: 'miss' });
    }
    return purpose === 'watch' ? this.#current.watches : this.#current.calls;
  }

  /** Ties the watch to its identity, to be cut when that is retired. */
  trackWatch(request: ClientRequest): void {
    const open = this.#current?.openWatches;
    open?.add(request);
    request.once('close', () => open?.delete(request));
  }

  /**
   * Stops using the current connections: idle ones are closed, running calls finish, watches are cut, as they
   * would go on for minutes with a stale identity.
   */
  retire(): void {
    const old = this.#current;
    this.#current = undefined;
    if (old === undefined) return;
    this.metrics.transports.inc({}, -1);
    for (const watch of old.openWatches) watch.destroy(new Error('the connection was replaced by a new one'));
    old.watches.destroy();
    // A connection that finishes its call finds no room among the idle ones and is closed.
    old.calls.maxFreeSockets = 0;
    for (const sockets of Object.values(old.calls.freeSockets)) {
      for (const socket of sockets ?? []) socket.destroy();
    }
  }

  /**
   * Returns what to do if the call that starts now times out: a connection that was silent all the while is
   * as dead as that of the call. Nothing else would tell a watch, which may be silent for minutes.
   */
  suspectSilent(): () => void {
    const received = this.#receivedSoFar();
    return () => {
      for (const [socket, bytes] of received) {
        if (socket.bytesRead === bytes && !socket.destroyed) {
          socket.destroy(new Error('the connection was silent while a call got no response'));
        }
      }
    };
  }

  /** The bytes received on each connection; calls that start at about the same time share one snapshot. */
  #receivedSoFar(): ReadonlyMap<Socket, number> {
    const nowMs = performance.now();
    if (nowMs - this.#lastLook.atMs < sharedLookMs) return this.#lastLook.received;
    const open = this.#current === undefined ? [] : [this.#current.calls, this.#current.watches];
    const received = new Map<Socket, number>();
    for (const { sockets, freeSockets } of open) {
      for (const socket of [...Object.values(sockets), ...Object.values(freeSockets)].flat()) {
        if (socket !== undefined) received.set(socket, socket.bytesRead);
      }
    }
    this.#lastLook = { atMs: nowMs, received };
    return received;
  }

  /** Closes everything at once, including running calls. */
  close(): void {
    const old = this.#current;
    this.retire();
    old?.calls.destroy();
  }

  #open(identity: TlsIdentity): ConnectionGeneration {
    const common = { keepAlive: true, scheduling: 'lifo' } as const;
    const calls = {
      maxSockets: mostCallConnections,
      maxFreeSockets: mostIdleConnections,
      timeout: idleTimeoutMs,
    };
    const openWatches = new Set<ClientRequest>();
    if (this.#endpoint.server.protocol === 'http:') {
      const watches = new HttpAgent({ ...common, keepAlive: false });
      return { identity, calls: new HttpAgent({ ...common, ...calls }), watches, openWatches };
    }
    const tls = this.#tlsOptions(identity);
    return {
      identity,
      calls: new OneServerAgent({ ...common, ...calls, ...tls }),
      watches: new OneServerAgent({ ...common, ...tls, keepAlive: false }),
      openWatches,
    };
  }

  #tlsOptions({ authorityPem, clientCertificate }: TlsIdentity): object {
    const { insecureSkipTlsVerify, tlsServerName } = this.#endpoint;
    return {
      ...strongClientTls,
      ALPNProtocols: ['http/1.1'],
      rejectUnauthorized: !insecureSkipTlsVerify,
      ...(tlsServerName === undefined ? {} : { servername: tlsServerName }),
      // Parsed once for all connections of this identity.
      secureContext: createSecureContext({
        ...strongClientTls,
        ca: authorityPem ?? [...rootCertificates],
        ...(clientCertificate === undefined
          ? {}
          : { cert: clientCertificate.certificatePem, key: clientCertificate.keyPem }),
      }),
    };
  }
}

/**
 * All its connections are to one server with one identity; by default Node would build a key from all options
 * for each call.
 */
class OneServerAgent extends HttpsAgent {
  override getName(): string {
    return 'api';
  }
}

function isSame(a: TlsIdentity, b: TlsIdentity): boolean {
  return (
    a.authorityPem === b.authorityPem &&
    a.clientCertificate?.certificatePem === b.clientCertificate?.certificatePem &&
    a.clientCertificate?.keyPem === b.clientCertificate?.keyPem
  );
}
