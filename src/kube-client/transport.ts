/** Sends one HTTP request to the API server, with limits on time and size. */
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type Socket } from 'node:net';
import { ByteReader, Cancelled, type Clock, errorText, throwIfCancelled } from '../async/index.js';
import { ApiUnreachable } from './api-error.js';
import { ApiConnections } from './connections.js';
import { type Credential, type Credentials, pemReader } from './credentials.js';
import type { ClusterEndpoint } from './kubeconfig.js';
import { apiClientLimits } from './limits.js';
import { type ApiRequestMetrics, createApiRequestMetrics } from './metrics.js';
import type { RequestMethod } from './retry-decision.js';

export interface TransportOptions {
  readonly clock: Clock;
  readonly endpoint: ClusterEndpoint;
  readonly credentials: Credentials;
  readonly userAgent: string;
  readonly onProblem?: (message: string) => void;
  /** Default: metrics that nobody reads. */
  readonly metrics?: ApiRequestMetrics;
}

export interface TransportRequest {
  readonly method: RequestMethod;
  /** Includes the query. */
  readonly path: string;
  readonly body?: { readonly contentType: string; readonly text: string };
  readonly accept?: string;
  /** From now to the end of the response body. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  readonly purpose: 'call' | 'watch';
  /** Headers beside those of the request itself. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** A response with an unread body. The caller must call `close`, which also stops an unfinished body. */
export interface TransportResponse {
  readonly code: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: AsyncIterable<Buffer>;
  readonly credential: Credential;
  /** The whole body, instead of `body`; one that reaches the limit is an error. Closes the response. */
  text(limitBytes: number): Promise<string>;
  close(): void;
}

/** A reused connection was closed before the first byte of the response. */
export class StaleConnection extends ApiUnreachable {}

/** Watches are silent for minutes; middleboxes must not drop them. */
const tcpKeepAliveMs = 30_000;

export class Transport {
  readonly #options: TransportOptions;
  readonly #connections: ApiConnections;
  readonly #metrics: ApiRequestMetrics;
  readonly #readAuthority: () => Promise<string | undefined>;
  readonly #basePath: string;

  constructor(options: TransportOptions) {
    this.#options = options;
    this.#metrics = options.metrics ?? createApiRequestMetrics();
    this.#connections = new ApiConnections(options.endpoint, this.#metrics);
    this.#readAuthority = pemReader(options.clock, options.endpoint.certificateAuthority, options.onProblem);
    this.#basePath = options.endpoint.server.pathname.replace(/\/$/, '');
  }

  get host(): string {
    return this.#options.endpoint.server.host;
  }

  /** Retires all connections but those of running calls; watches are cut and reopened by their owners. */
  resetConnections(): void {
    this.#connections.retire();
  }

  close(): void {
    this.#connections.close();
  }

  /** Whether there are newer credentials than the rejected ones. */
  async renewedCredential(refused: Credential, signal?: AbortSignal): Promise<boolean> {
    const { credentials, onProblem } = this.#options;
    credentials.refused(refused);
    try {
      return (await credentials.current(signal)) !== refused;
    } catch (error) {
      if (error instanceof Cancelled) throw error;
      onProblem?.(`getting credentials after a refusal: ${errorText(error)}`);
      return false;
    }
  }

  /** Resolves with the response head. */
  async send(request: TransportRequest): Promise<TransportResponse> {
    throwIfCancelled(request.signal);
    const credential = await this.#credential(request);
    const authorityPem = await this.#authority(request);
    throwIfCancelled(request.signal);
    return this.#exchange(request, credential, authorityPem);
  }

  async #credential(request: TransportRequest): Promise<Credential> {
    try {
      return await this.#options.credentials.current(request.signal);
    } catch (error) {
      if (error instanceof Cancelled) throw error;
      throw this.#failure(request, `getting credentials: ${errorText(error)}`, 'not-sent', error);
    }
  }

  async #authority(request: TransportRequest): Promise<string | undefined> {
    try {
      return await this.#readAuthority();
    } catch (error) {
      throw this.#failure(
        request,
        `unable to load root certificates: ${errorText(error)}`,
        'not-sent',
        error,
      );
    }
  }

  #exchange(
    request: TransportRequest,
    credential: Credential,
    authorityPem: string | undefined,
  ): Promise<TransportResponse> {
    const { clock, endpoint, userAgent } = this.#options;
    const { server } = endpoint;
    const { signal } = request;
    const { clientCertificate } = credential;
    const agent = this.#connections.agent({ authorityPem, clientCertificate }, request.purpose);
    const open = server.protocol === 'https:' ? httpsRequest : httpRequest;
    const body = request.body === undefined ? undefined : Buffer.from(request.body.text, 'utf8');
    const outgoing: ClientRequest = open({
      method: request.method,
      host: server.hostname.replace(/^\[|\]$/g, ''),
      port: server.port === '' ? (server.protocol === 'https:' ? 443 : 80) : server.port,
      path: `${this.#basePath}${request.path}`,
      agent,
      headers: {
        accept: request.accept ?? 'application/json',
        'accept-encoding': 'identity',
        'user-agent': userAgent,
        ...request.headers,
        ...(credential.bearerToken === undefined
          ? {}
          : { authorization: `Bearer ${credential.bearerToken}` }),
        ...(request.body === undefined ? {} : { 'content-type': request.body.contentType }),
        ...(body === undefined ? {} : { 'content-length': body.length }),
      },
    });
    if (request.purpose === 'watch') this.#connections.trackWatch(outgoing);
    const state: TransportExchange = { connected: false, stop: undefined };
    const stop = (why: Error): void => {
      state.stop ??= why;
      outgoing.destroy(why);
    };
    const onAbort = (): void => stop(new Cancelled());
    // A watch's timeout says nothing: it may have been silent because nothing changed.
    const suspectSilent = request.purpose === 'call' ? this.#connections.suspectSilent() : undefined;
    const deadline = clock.setTimer(request.timeoutMs, () => {
      stop(this.#failure(request, `no response within ${request.timeoutMs / 1000} s`, 'unknown'));
      suspectSilent?.();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
    const connecting = this.#limitConnecting(request, outgoing, state, stop);
    const release = (): void => {
      deadline.cancel();
      connecting.cancel();
      signal?.removeEventListener('abort', onAbort);
    };
    return new Promise((resolve, reject) => {
      outgoing.once('error', (error) => {
        release();
        reject(state.stop ?? this.#requestError(request, error, outgoing, state.connected));
      });
      outgoing.once('response', (response) => {
        // From here on errors surface through the body.
        outgoing.on('error', () => undefined);
        const close = (): void => {
          release();
          if (!response.complete) outgoing.destroy();
          else response.resume();
        };
        resolve({
          code: response.statusCode ?? 0,
          headers: response.headers,
          credential,
          body: this.#bodyOf(request, response, state),
          text: (limitBytes) =>
            wholeText(response, limitBytes)
              .catch((error: unknown) => {
                if (error instanceof ApiUnreachable) throw error;
                throw state.stop ?? this.#failure(request, errorText(error), 'unknown', error);
              })
              .finally(close),
          close,
        });
      });
      outgoing.end(body);
    });
  }

  /** Connecting has a shorter limit than a slow response. */
  #limitConnecting(
    request: TransportRequest,
    outgoing: ClientRequest,
    state: TransportExchange,
    stop: (why: Error) => void,
  ): { cancel(): void } {
    let cancel = (): void => undefined;
    outgoing.once('socket', (socket) => {
      socket.setKeepAlive(true, tcpKeepAliveMs);
      const connected = (): void => {
        cancel();
        state.connected = true;
      };
      if (outgoing.reusedSocket || !socket.connecting) {
        connected();
        return;
      }
      this.#timeLookup(socket);
      const timer = this.#options.clock.setTimer(apiClientLimits.connectMs, () =>
        stop(
          this.#failure(request, `no connection within ${apiClientLimits.connectMs / 1000} s`, 'not-sent'),
        ),
      );
      cancel = () => timer.cancel();
      socket.once(
        this.#options.endpoint.server.protocol === 'https:' ? 'secureConnect' : 'connect',
        connected,
      );
    });
    return { cancel: () => cancel() };
  }

  /** A server that is named by its address needs no lookup, and a failed one is no measure. */
  #timeLookup(socket: Socket): void {
    const { clock, endpoint } = this.#options;
    const startMs = clock.monotonic();
    socket.once('lookup', (error) => {
      const host = endpoint.server.hostname.replace(/^\[|\]$/g, '');
      if (error === null && isIP(host) === 0)
        this.#metrics.dnsDuration.observe((clock.monotonic() - startMs) / 1000, { host });
    });
  }

  async *#bodyOf(
    request: TransportRequest,
    response: IncomingMessage,
    state: TransportExchange,
  ): AsyncGenerator<Buffer> {
    try {
      yield* response as AsyncIterable<Buffer>;
    } catch (error) {
      throw state.stop ?? this.#failure(request, errorText(error), 'unknown', error);
    }
  }

  #requestError(request: TransportRequest, error: Error, outgoing: ClientRequest, connected: boolean): Error {
    if (outgoing.reusedSocket && 'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE')) {
      return new StaleConnection(this.#text(request, error.message), 'unknown', { cause: error });
    }
    return this.#failure(request, error.message, connected ? 'unknown' : 'not-sent', error);
  }

  #failure(
    request: TransportRequest,
    what: string,
    sent: 'not-sent' | 'unknown',
    cause?: unknown,
  ): ApiUnreachable {
    return new ApiUnreachable(this.#text(request, what), sent, { cause });
  }

  #text({ method, path }: TransportRequest, what: string): string {
    const verb = `${method.charAt(0)}${method.slice(1).toLowerCase()}`;
    return `${verb} "${this.#options.endpoint.server.origin}${this.#basePath}${path}": ${what}`;
  }
}

interface TransportExchange {
  connected: boolean;
  /** Why we ended it ourselves. */
  stop: Error | undefined;
}

/** Collects the chunks, as most responses come in one. */
function wholeText(response: IncomingMessage, limitBytes: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const whole = new ByteReader();
    response.on('data', (chunk: Buffer) => {
      if (whole.length + chunk.length > limitBytes)
        reject(new ApiUnreachable(`the response is larger than ${limitBytes} bytes`, 'unknown'));
      else whole.push(chunk);
    });
    response.once('end', () => resolve(whole.takeAll().toString('utf8')));
    response.once('error', reject);
    // Cut off before its end, which some versions report as an error and some do not.
    response.once('close', () => reject(new Error('aborted')));
  });
}
