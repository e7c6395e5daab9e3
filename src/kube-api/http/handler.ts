/** Answers requests of the Kubernetes API: finds what the path names, does the verb, and renders the result. */
import type { KubeList, KubeObject } from '../../kube/types/index.js';
import { ApiError } from '../../kube-client/api-error.js';
import type { ObjectRef } from '../../kube-client/port.js';
import type { ObjectSubresource } from '../../kube-client/resources.js';
import type { ServedKind } from '../kinds/served-kind.js';
import { notFound } from '../objects/server-errors.js';
import type { ObjectWrite } from '../objects/write-rules.js';
import type { ServedApi } from '../server.js';
import { applyParameters, applyType, readConfiguration } from './apply-request.js';
import { mediaTypeOf, readDocument, readObject } from './body.js';
import { type ApiRequest, type ApiResponse, indented, jsonResponse } from './contracts.js';
import type { Discovery } from './discovery.js';
import { methodNotAllowed, statusResponse } from './errors.js';
import { listResponse } from './list-response.js';
import { requestedMedia } from './media.js';
import {
  deleteParameters,
  deleteWrite,
  flag,
  listParameters,
  watchParameters,
  writeParameters,
} from './parameters.js';
import { readPatch } from './patch-request.js';
import { type IncludedObject, type RenderOptions, renderObject, type TablePrinter } from './render.js';
import { type ApiTarget, KindIndex, targetOf } from './target.js';
import { unserved, unservedBelow, unservedResponse } from './unserved.js';
import { WatchLines, watchResponse } from './watch-response.js';
import { WrittenFields } from './written-fields.js';

/** Answers subresources that are not the object itself, and kinds that are only posted. */
export interface OtherResponder {
  /** Undefined when it does not know the path. */
  respond(request: ApiRequest, target: ApiTarget | undefined): Promise<ApiResponse | undefined>;
}

export interface ApiHandlerOptions {
  readonly api: ServedApi;
  readonly discovery: Discovery;
  readonly printer: TablePrinter;
  readonly others: readonly OtherResponder[];
}

export class ApiHandler {
  readonly #options: ApiHandlerOptions;
  readonly #kinds: KindIndex;
  readonly #lines = new WatchLines();

  constructor(options: ApiHandlerOptions) {
    this.#options = options;
    this.#kinds = new KindIndex(options.api.kinds);
  }

  /** Never rejects: what goes wrong is a Status. */
  async handle(request: ApiRequest): Promise<ApiResponse> {
    const response = await this.#respond(request).catch(statusResponse);
    return flag(request.query, 'pretty') ? indented(response) : response;
  }

  async #respond(request: ApiRequest): Promise<ApiResponse> {
    const target = targetOf(this.#kinds, request.path);
    for (const other of this.#options.others) {
      const response = await other.respond(request, target);
      if (response !== undefined) return response;
    }
    if (target === undefined) return this.#discover(request);
    const { kind, subresource, below } = target;
    if (below !== undefined || (subresource !== undefined && !isObjectSubresource(kind, subresource)))
      throw unservedBelow(target);
    if (target.name === undefined) return this.#collection(request, target);
    return this.#object(
      request,
      target,
      target.name,
      subresource === undefined ? undefined : asSubresource(subresource),
    );
  }

  #discover(request: ApiRequest): ApiResponse {
    const { method, path, headers } = request;
    const isAggregated = String(headers.accept ?? '').includes('as=APIGroupDiscoveryList');
    const found = this.#options.discovery.at(path, isAggregated);
    if (found === undefined) return unservedResponse(unserved(path, this.#options.discovery), request);
    if (method !== 'GET' && method !== 'HEAD') throw methodNotAllowed();
    const aggregated = isAggregated && (path === '/api' || path === '/apis');
    return jsonResponse(
      200,
      found,
      aggregated
        ? { 'Content-Type': 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList' }
        : {},
    );
  }

  async #collection(request: ApiRequest, { kind, namespace }: ApiTarget): Promise<ApiResponse> {
    const { api } = this.#options;
    const { query } = request;
    switch (request.method) {
      case 'HEAD':
      case 'GET': {
        const { render, contentType } = this.#render(request, kind);
        if (flag(query, 'watch'))
          return watchResponse(api, watchParameters(query, namespace), render, contentType, this.#lines);
        return this.#list(api.list(kind.resource, listParameters(query, namespace)), render, contentType);
      }
      case 'POST': {
        const { render, contentType } = this.#render(request, kind);
        const fields = new WrittenFields(query);
        const object = await readObject(request, kind.resource, fields);
        if (namespace !== undefined && (object.metadata.namespace ?? namespace) !== namespace)
          throw new ApiError({
            code: 400,
            message: 'the namespace of the provided object does not match the namespace sent on the request',
          });
        const created = await api.create(kind.resource, object, namespace, writeParameters(request));
        return jsonResponse(201, renderObject(created, render), {
          'Content-Type': contentType,
          ...fields.headers(),
        });
      }
      case 'DELETE': {
        const { render, contentType } = this.#render(request, kind);
        const body = await readDocument(request);
        const options = deleteParameters(query, body);
        const deleted = await api.deleteCollection(
          kind.resource,
          listParameters(query, namespace),
          options,
          deleteWrite(request, body),
        );
        return this.#list(deleted, render, contentType);
      }
      default:
        throw methodNotAllowed();
    }
  }

  #list(list: KubeList<KubeObject>, render: RenderOptions, contentType: string): ApiResponse {
    const { clock, storage } = this.#options.api;
    const source = { clock, sizeOf: (object: KubeObject) => storage.sizeOf(object) };
    return listResponse(source, list, render, contentType);
  }

  async #object(
    request: ApiRequest,
    { kind, namespace }: ApiTarget,
    name: string,
    subresource: ObjectSubresource | undefined,
  ): Promise<ApiResponse> {
    const { api } = this.#options;
    const ref: ObjectRef = namespace === undefined ? { name } : { namespace, name };
    const { render, contentType } = this.#render(request, kind);
    const fields = new WrittenFields(request.query);
    const answer = (object: KubeObject, status = 200): ApiResponse =>
      jsonResponse(status, renderObject(object, render), {
        'Content-Type': contentType,
        ...fields.headers(),
      });
    switch (request.method) {
      case 'HEAD':
      case 'GET': {
        if (flag(request.query, 'watch')) {
          const watch = {
            ...watchParameters(request.query, namespace),
            fieldSelector: `metadata.name=${name}`,
          };
          return watchResponse(api, watch, render, contentType, this.#lines);
        }
        return answer(api.get(kind.resource, ref));
      }
      case 'PUT': {
        const object = await readObject(request, kind.resource, fields);
        const { name: given = name } = object.metadata;
        if (given !== name) throw nameMismatch(given, name);
        object.metadata = { ...object.metadata, name, ...(namespace === undefined ? {} : { namespace }) };
        return answer(await api.update(kind.resource, object, written(request, subresource)));
      }
      case 'PATCH': {
        if (mediaTypeOf(request) === applyType) {
          const write = applyParameters(request, subresource);
          const config = fields.applied(
            kind.resource,
            ref,
            await readConfiguration(request, kind.resource, ref),
          );
          const { object, isNew } = await api.apply(kind.resource, ref, config, write);
          return answer(object, isNew ? 201 : 200);
        }
        return answer(
          await this.#patch(request, kind, ref, {
            ...written(request, subresource),
            readPatched: (resource, patched) => fields.patched(resource, patched),
          }),
        );
      }
      case 'DELETE': {
        if (subresource !== undefined) throw methodNotAllowed();
        return this.#delete(request, kind, ref, answer);
      }
      default:
        throw methodNotAllowed();
    }
  }

  async #patch(
    request: ApiRequest,
    kind: ServedKind,
    ref: ObjectRef,
    write: ObjectWrite,
  ): Promise<KubeObject> {
    const patch = await readPatch(request);
    return this.#options.api.patch(kind.resource, ref, patch, write);
  }

  async #delete(
    request: ApiRequest,
    kind: ServedKind,
    ref: ObjectRef,
    answer: (object: KubeObject) => ApiResponse,
  ): Promise<ApiResponse> {
    const { api } = this.#options;
    const body = await readDocument(request);
    const options = deleteParameters(request.query, body);
    const deleted = await api.delete(kind.resource, ref, options, deleteWrite(request, body));
    const { plural, group } = kind.resource;
    if (plural === 'pods' || deleted.metadata.deletionTimestamp !== undefined) return answer(deleted);
    const { name, uid = '' } = { name: ref.name, ...deleted.metadata };
    const details = { name, ...(group === '' ? {} : { group }), kind: plural, uid };
    return jsonResponse(200, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details });
  }

  #render(request: ApiRequest, kind: ServedKind): { render: RenderOptions; contentType: string } {
    const media = requestedMedia(request.headers);
    if (media === undefined) {
      const message = 'only the following media types are accepted: application/json';
      throw new ApiError({ code: 406, message });
    }
    const { api, printer } = this.#options;
    const include = includedObject(request.query.get('includeObject'));
    return {
      render: { kind, form: media.form, include, nowMs: api.clock.now(), printer },
      contentType: media.contentType,
    };
  }
}

function written(request: ApiRequest, subresource: ObjectSubresource | undefined): ObjectWrite {
  return { ...writeParameters(request), ...(subresource === undefined ? {} : { subresource }) };
}

function includedObject(value: string | null): IncludedObject {
  return value === 'Object' || value === 'None' ? value : 'Metadata';
}

function isObjectSubresource(kind: ServedKind, name: string): boolean {
  return name !== 'scale' && kind.subresources.some((one) => one === name);
}

function asSubresource(name: string): ObjectSubresource {
  // Checked against the row of the kind.
  return name as ObjectSubresource;
}

function nameMismatch(given: string, name: string): ApiError {
  const message = `the name of the object (${given}) does not match the name on the URL (${name})`;
  return new ApiError({ code: 400, message });
}

/** For responders that find the object of a target themselves. */
export function existingObject(api: ServedApi, { kind, namespace, name }: ApiTarget): KubeObject {
  if (name === undefined) throw notFound(kind.resource, '');
  return api.get(kind.resource, namespace === undefined ? { name } : { namespace, name });
}
