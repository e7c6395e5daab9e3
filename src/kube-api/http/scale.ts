/** The scale of a workload: how many replicas it wants and has, as a small object of its own. */
import type { Deployment, KubeObject, LabelSelector } from '../../kube/types/index.js';
import { ApiError } from '../../kube-client/api-error.js';
import { isMapping, member } from '../../kube-client/patches/json.js';
import { applyJsonPatch } from '../../kube-client/patches/json-patch.js';
import { applyMergePatch } from '../../kube-client/patches/merge-patch.js';
import type { ObjectRef } from '../../kube-client/port.js';
import type { ServedKind } from '../kinds/served-kind.js';
import { invalid } from '../objects/server-errors.js';
import type { ServedApi } from '../server.js';
import { readDocument } from './body.js';
import { type ApiRequest, type ApiResponse, jsonResponse } from './contracts.js';
import { methodNotAllowed } from './errors.js';
import type { OtherResponder } from './handler.js';
import { writeParameters } from './parameters.js';
import { readPatch } from './patch-request.js';

/** What the kinds that can be scaled share. */
type Scalable = Pick<Deployment, 'metadata' | 'spec' | 'status'>;

export function scaleResponses(api: ServedApi): OtherResponder {
  return {
    async respond(request, target) {
      if (target?.subresource !== 'scale' || target.name === undefined || target.below !== undefined)
        return undefined;
      const { kind, name, namespace } = target;
      if (!kind.subresources.includes('scale')) return undefined;
      const ref: ObjectRef = namespace === undefined ? { name } : { namespace, name };
      // Only kinds with replicas and a selector have this subresource.
      const current = api.get(kind.resource, ref) as unknown as Scalable;
      const scale = scaleOf(current);
      if (request.method === 'GET') return jsonResponse(200, scale);
      return write(api, request, kind, current, await wantedScale(request, scale));
    },
  };
}

async function wantedScale(request: ApiRequest, scale: unknown): Promise<unknown> {
  if (request.method === 'PUT') return readDocument(request);
  if (request.method !== 'PATCH') throw methodNotAllowed();
  const patch = await readPatch(request);
  return patch.type === 'json' ? applyJsonPatch(scale, patch.body) : applyMergePatch(scale, patch.body);
}

async function write(
  api: ServedApi,
  request: ApiRequest,
  { resource }: ServedKind,
  current: Scalable,
  wanted: unknown,
): Promise<ApiResponse> {
  if (!isMapping(wanted)) throw new ApiError({ code: 400, message: 'the body of the request is no Scale' });
  const replicas = member(member(wanted, 'spec'), 'replicas') ?? 0;
  if (!Number.isInteger(replicas) || Number(replicas) < 0 || Number(replicas) >= 2 ** 31)
    throw invalid(
      resource,
      current.metadata.name ?? '',
      `spec.replicas: Invalid value: ${JSON.stringify(replicas)}: must be greater than or equal to 0`,
    );
  const version = member(member(wanted, 'metadata'), 'resourceVersion');
  const next = {
    ...current,
    metadata: {
      ...current.metadata,
      resourceVersion: typeof version === 'string' ? version : current.metadata.resourceVersion,
    },
    spec: { ...current.spec, replicas: Number(replicas) },
  };
  // The same object with another number.
  const written = await api.update(resource, next as unknown as KubeObject, writeParameters(request));
  return jsonResponse(200, scaleOf(written as unknown as Scalable));
}

function scaleOf({ metadata, spec, status }: Scalable): unknown {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  return {
    apiVersion: 'autoscaling/v1',
    kind: 'Scale',
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { replicas: spec.replicas ?? 1 },
    status: { replicas: status?.replicas ?? 0, selector: selectorText(spec.selector) },
  };
}

function selectorText({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string {
  const equal = Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`);
  const others = matchExpressions.map(({ key, operator, values = [] }) => {
    switch (operator) {
      case 'Exists':
        return key;
      case 'DoesNotExist':
        return `!${key}`;
      default:
        return `${key} ${operator === 'In' ? 'in' : 'notin'} (${values.join(',')})`;
    }
  });
  return [...equal, ...others].join(',');
}
