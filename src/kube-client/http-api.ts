/** The Kubernetes API over HTTP: the real implementation of the port. */
import { type Clock, errorText, sleep } from '../async/index.js';
import { parseJson } from '../kube/manifests/json-text.js';
import type { KubeList, KubeObject } from '../kube/types/index.js';
import { forwardingTracer, type Tracer } from '../tracing/index.js';
import { ApiUnreachable, apiErrorOf } from './api-error.js';
import { apiClientLimits } from './limits.js';
import { type ApiRequestMetrics, createApiRequestMetrics } from './metrics.js';
import type {
  ApiCallOptions,
  CreateOptions,
  DeleteCollectionOptions,
  DeleteOptions,
  GetOptions,
  KubeApi,
  ListOptions,
  ObjectRef,
  Patch,
  RequestPriority,
  UnpostedObject,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from './port.js';
import { type RateLimiter, unlimited } from './rate-limiter.js';
import { apiVersionOf, type PostedSubresource, type Resource } from './resources.js';
import { collectionPath, defaultPriority, listQuery, objectPath, queryOf, watchQuery } from './rest-path.js';
import { decideRetry, type RequestMethod, type RequestOutcome, readRetryAfter } from './retry-decision.js';
import { tracedSend } from './traced-send.js';
import {
  StaleConnection,
  type Transport,
  type TransportRequest,
  type TransportResponse,
} from './transport.js';
import { parseWatchEvent, readLines } from './watch-stream.js';

export interface HttpKubeApiOptions {
  readonly clock: Clock;
  readonly transport: Transport;
  readonly limiter?: RateLimiter;
  /** For calls without their own. */
  readonly timeoutMs?: number;
  /** Default: metrics that nobody reads. */
  readonly metrics?: ApiRequestMetrics;
  /** Makes a span of every request, and tells the API server of it. Default: only traces of callers are passed on. */
  readonly tracer?: Tracer;
  readonly streamsLists?: boolean;
}

/** For a server that forgot to end a watch. */
const watchGraceMs = 30_000;
const watchDefaultSeconds = 600;

const patchTypes: Readonly<Record<Patch['type'], string>> = {
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  json: 'application/json-patch+json',
};

const metadataList = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';

interface PrioritizedRequest extends TransportRequest {
  readonly priority: RequestPriority;
}

export class HttpKubeApi implements KubeApi {
  readonly streamsLists: boolean;
  readonly #options: HttpKubeApiOptions;
  readonly #limiter: RateLimiter;
  readonly #metrics: ApiRequestMetrics;
  readonly #tracer: Tracer;

  constructor(options: HttpKubeApiOptions) {
    this.#options = options;
    this.streamsLists = options.streamsLists ?? false;
    this.#limiter = options.limiter ?? unlimited;
    this.#metrics = options.metrics ?? createApiRequestMetrics();
    this.#tracer = options.tracer ?? forwardingTracer();
  }

  get<T extends KubeObject>(resource: Resource<T>, ref: ObjectRef, options: GetOptions = {}): Promise<T> {
    const query = queryOf({ resourceVersion: options.resourceVersion });
    return this.#json(resource, 'GET', `${objectPath(resource, ref, options.subresource)}${query}`, options);
  }

  list<T extends KubeObject>(resource: Resource<T>, options: ListOptions = {}): Promise<KubeList<T>> {
    const path = `${collectionPath(resource, options.namespace)}${listQuery(options)}`;
    const accept = options.metadataOnly === true ? { accept: metadataList } : {};
    return this.#json(resource, 'GET', path, { ...options, ...accept });
  }

  create<T extends KubeObject>(
    resource: Resource<T>,
    object: UnpostedObject<T>,
    options: CreateOptions = {},
  ): Promise<T> {
    const path = collectionPath(resource, options.namespace ?? object.metadata.namespace);
    const query = queryOf({ fieldManager: options.fieldManager });
    return this.#json(resource, 'POST', `${path}${query}`, options, jsonBody(withKind(resource, object)));
  }

  update<T extends KubeObject>(resource: Resource<T>, object: T, options: WriteOptions = {}): Promise<T> {
    const { name = '', namespace } = object.metadata;
    const path = objectPath(resource, refOf(namespace, name), options.subresource);
    const query = queryOf({ fieldManager: options.fieldManager });
    return this.#json(resource, 'PUT', `${path}${query}`, options, jsonBody(withKind(resource, object)));
  }

  patch<T extends KubeObject>(
    resource: Resource<T>,
    ref: ObjectRef,
    patch: Patch,
    options: WriteOptions = {},
  ): Promise<T> {
    const query = queryOf({ fieldManager: options.fieldManager });
    const path = `${objectPath(resource, ref, options.subresource)}${query}`;
    const body = { contentType: patchTypes[patch.type], text: JSON.stringify(patch.body) };
    return this.#json(resource, 'PATCH', path, options, body);
  }

  async delete<T extends KubeObject>(
    resource: Resource<T>,
    ref: ObjectRef,
    options: DeleteOptions = {},
  ): Promise<T | undefined> {
    const { gracePeriodSeconds, preconditions, propagationPolicy } = options;
    const body = jsonBody({
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      gracePeriodSeconds,
      preconditions,
      propagationPolicy,
    });
    const response: T = await this.#json(resource, 'DELETE', objectPath(resource, ref), options, body);
    return response.kind === 'Status' ? undefined : response;
  }

  async deleteCollection(resource: Resource, options: DeleteCollectionOptions = {}): Promise<void> {
    const path = `${collectionPath(resource, options.namespace)}${listQuery(options)}`;
    const body = jsonBody({ apiVersion: 'v1', kind: 'DeleteOptions' });
    await this.#json(resource, 'DELETE', path, options, body);
  }

  post<In, Out>(
    subresource: PostedSubresource<In, Out>,
    ref: ObjectRef,
    body: In,
    options: ApiCallOptions = {},
  ): Promise<Out> {
    const typed = { apiVersion: apiVersionOf(subresource), kind: subresource.kind, ...body };
    const path = objectPath(subresource.of, ref, subresource.name);
    return this.#json(subresource.of, 'POST', path, options, jsonBody(typed));
  }

  async getText(path: string, options: ApiCallOptions = {}): Promise<string> {
    const call = { ...this.#callOf(options), method: 'GET' as const, path, accept: '*/*' };
    const response = await this.#send(call);
    return response.text(apiClientLimits.errorBytes);
  }

  async *watch<T extends KubeObject>(
    resource: Resource<T>,
    options: WatchOptions = {},
  ): AsyncGenerator<WatchEvent<T>, void, undefined> {
    const timeoutSeconds = options.timeoutSeconds ?? watchDefaultSeconds;
    const response = await this.#send({
      method: 'GET',
      path: `${collectionPath(resource, options.namespace)}${watchQuery({ ...options, timeoutSeconds })}`,
      timeoutMs: timeoutSeconds * 1000 + watchGraceMs,
      signal: options.signal,
      purpose: 'watch',
      priority: 'normal',
    });
    try {
      for await (const line of readLines(response.body, apiClientLimits.watchLineBytes))
        yield parseWatchEvent<T>(line);
    } finally {
      response.close();
    }
  }

  #callOf(
    options: ApiCallOptions,
  ): Pick<PrioritizedRequest, 'timeoutMs' | 'signal' | 'purpose' | 'priority'> {
    return {
      timeoutMs: options.timeoutMs ?? this.#options.timeoutMs ?? apiClientLimits.callMs,
      signal: options.signal,
      purpose: 'call',
      priority: options.priority ?? 'normal',
    };
  }

  async #json<Out>(
    resource: Resource,
    method: RequestMethod,
    path: string,
    options: ApiCallOptions & Pick<WriteOptions, 'subresource'> & Pick<TransportRequest, 'accept'>,
    body?: TransportRequest['body'],
  ): Promise<Out> {
    const response = await this.#send({
      ...this.#callOf(options),
      priority: options.priority ?? defaultPriority(resource, options.subresource),
      method,
      path,
      ...(options.accept === undefined ? {} : { accept: options.accept }),
      ...(body === undefined ? {} : { body }),
    });
    const text = await response.text(apiClientLimits.responseBytes);
    this.#countAnswer(method, text);
    try {
      // The API's response to a request for this kind is trusted to be of this kind.
      return parseJson(text) as Out;
    } catch (error) {
      throw new ApiUnreachable(`${method} ${path}: the response ${errorText(error)}`, 'unknown', {
        cause: error,
      });
    }
  }

  #countAnswer(verb: RequestMethod, text: string): void {
    const { host } = this.#options.transport;
    this.#metrics.responseBytes.observe(Buffer.byteLength(text), { verb, host });
  }

  /** The response of a successful request, with retries where they make sense; its body is unread. */
  async #send(call: PrioritizedRequest): Promise<TransportResponse> {
    for (let attempts = 1; ; attempts++) {
      await this.#awaitRate(call);
      const result = await this.#attempt(call);
      if (result.kind === 'response') return result.response;
      const decision = decideRetry({ method: call.method, attempts, outcome: result.outcome });
      if (!decision.retry) throw result.error;
      const { host } = this.#options.transport;
      this.#metrics.retries.inc({ code: codeOf(result.outcome), verb: call.method, host });
      if (decision.waitMs > 0) await sleep(this.#options.clock, decision.waitMs, call.signal);
    }
  }

  async #awaitRate(call: PrioritizedRequest): Promise<void> {
    const { clock, transport } = this.#options;
    const startMs = clock.monotonic();
    await this.#limiter.acquire(call.priority, call.signal);
    const labels = { verb: call.method, host: transport.host };
    this.#metrics.rateLimiterWait.observe((clock.monotonic() - startMs) / 1000, labels);
  }

  async #attempt(call: PrioritizedRequest): Promise<RequestAttempt> {
    const { clock, transport } = this.#options;
    const { method, purpose } = call;
    const { host } = transport;
    const startMs = clock.monotonic();
    const finished = (code: string): void => {
      this.#metrics.requests.inc({ code, method, host });
      // A watch lasts as long as it is wanted, which says nothing of the server.
      if (purpose === 'watch') return;
      this.#metrics.duration.observe((clock.monotonic() - startMs) / 1000, { verb: method, host });
      this.#metrics.requestBytes.observe(Buffer.byteLength(call.body?.text ?? ''), { verb: method, host });
    };
    let response: TransportResponse;
    try {
      response = await tracedSend(this.#tracer, transport, call);
    } catch (error) {
      finished('<error>');
      if (error instanceof StaleConnection)
        return { kind: 'failed', error, outcome: { kind: 'stale-connection' } };
      throw error;
    }
    finished(String(response.code));
    if (response.code >= 200 && response.code < 300) return { kind: 'response', response };
    const retryAfterSeconds = readRetryAfter(response.headers['retry-after']);
    const text = await response.text(apiClientLimits.errorBytes);
    this.#countAnswer(method, text);
    const error = apiErrorOf(response.code, text, retryAfterSeconds);
    if (response.code === 401 && (await transport.renewedCredential(response.credential, call.signal))) {
      return { kind: 'failed', error, outcome: { kind: 'credentials-renewed' } };
    }
    return { kind: 'failed', error, outcome: { kind: 'refused', code: response.code, retryAfterSeconds } };
  }
}

type RequestAttempt =
  | { readonly kind: 'response'; readonly response: TransportResponse }
  | { readonly kind: 'failed'; readonly error: Error; readonly outcome: RequestOutcome };

/** As the metrics of requests have it. */
function codeOf(outcome: RequestOutcome): string {
  switch (outcome.kind) {
    case 'refused':
      return String(outcome.code);
    case 'credentials-renewed':
      return '401';
    case 'stale-connection':
      return '<error>';
  }
}

function refOf(namespace: string | undefined, name: string): ObjectRef {
  return namespace === undefined ? { name } : { namespace, name };
}

function jsonBody(value: unknown): { contentType: string; text: string } {
  return { contentType: 'application/json', text: JSON.stringify(value) };
}

/** Objects from lists lack their kind and version, which the server requires. */
function withKind<T extends KubeObject>(resource: Resource<T>, object: T): T {
  return { ...object, apiVersion: apiVersionOf(resource), kind: resource.kind };
}
