/** Answers `metrics.k8s.io`: what nodes and pods use, measured when a client asks. */
import type { KubeObject } from '../../kube/types/index.js';
import { ApiError } from '../../kube-client/api-error.js';
import { apiVersionOf, type Resource, resources } from '../../kube-client/resources.js';
import { type ApiRequest, type ApiResponse, jsonResponse } from '../http/contracts.js';
import { methodNotAllowed, notServed } from '../http/errors.js';
import type { OtherResponder } from '../http/handler.js';
import { requestedMedia } from '../http/media.js';
import { flag, listParameters } from '../http/parameters.js';
import { type RenderOptions, renderList, renderObject, type TablePrinter } from '../http/render.js';
import { type ApiTarget, KindIndex, targetOf } from '../http/target.js';
import { filterOf } from '../objects/selectors.js';
import type { ServedApi } from '../server.js';
import type { NodeUsage, UsageReader } from './contracts.js';
import { nodeMetrics, podMetrics, usageKinds } from './usage-kinds.js';
import { nodeMetricsOf, podMetricsOf } from './usage-objects.js';

export interface UsageResponsesOptions {
  readonly api: Pick<ServedApi, 'list' | 'clock' | 'storage'>;
  readonly reader: UsageReader;
  readonly printer: TablePrinter;
}

export function usageResponses(options: UsageResponsesOptions): OtherResponder {
  const kinds = new KindIndex(usageKinds);
  return {
    async respond(request) {
      const target = targetOf(kinds, request.path);
      if (target === undefined) return undefined;
      if (target.subresource !== undefined) throw notServed();
      if ((request.method !== 'GET' && request.method !== 'HEAD') || flag(request.query, 'watch'))
        throw methodNotAllowed();
      return respond(options, request, target);
    },
  };
}

async function respond(
  { api, reader, printer }: UsageResponsesOptions,
  request: ApiRequest,
  { kind, namespace, name }: ApiTarget,
): Promise<ApiResponse> {
  const media = requestedMedia(request.headers);
  if (media === undefined)
    throw new ApiError({
      code: 406,
      message: 'only the following media types are accepted: application/json',
    });
  const { resource } = kind;
  const isWanted = filterOf(resource, listParameters(request.query, namespace));
  const of = (usage: NodeUsage): KubeObject[] => {
    const nowMs = api.clock.now();
    if (resource.kind === nodeMetrics.kind)
      return api
        .list(resources.nodes)
        .items.flatMap((node) => nodeMetricsOf(node, reader.nodeName, usage, nowMs) ?? []);
    return api.list(resources.pods).items.flatMap((pod) => podMetricsOf(pod, usage, nowMs) ?? []);
  };
  const items = of(await reader.read()).filter(isWanted);
  const include = request.query.get('includeObject') === 'Object' ? 'Object' : 'Metadata';
  const render: RenderOptions = { kind, form: media.form, include, nowMs: api.clock.now(), printer };
  const headers = { 'Content-Type': media.contentType };
  if (name === undefined) {
    const list = { apiVersion: apiVersionOf(resource), kind: `${resource.kind}List`, metadata: {}, items };
    return jsonResponse(200, renderList(list, render), headers);
  }
  const found = items.find((object) => object.metadata.name === name);
  if (found === undefined) throw notMeasured(resource, name);
  return jsonResponse(200, renderObject(found, render), headers);
}

function notMeasured({ kind, group }: Resource, name: string): ApiError {
  const plural = kind === podMetrics.kind ? 'podmetrics' : 'nodemetrics';
  return new ApiError({
    code: 404,
    reason: 'NotFound',
    message: `${plural}.${group} ${JSON.stringify(name)} not found`,
    details: { name, group, kind: plural },
  });
}
