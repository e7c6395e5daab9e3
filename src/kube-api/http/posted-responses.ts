/** The requests for what is posted and not stored, and for the scale of a workload. */
import type { KubeObject } from '../../kube/types/index.js';
import { ApiError } from '../../kube-client/api-error.js';
import { isMapping, member } from '../../kube-client/patches/json.js';
import type { ObjectRef } from '../../kube-client/port.js';
import { type Resource, resources, subresources } from '../../kube-client/resources.js';
import type { PostedResponder } from '../posted/contracts.js';
import { postedKinds } from '../posted/posted-kinds.js';
import type { ServedApi } from '../server.js';
import { readDocument, readObject } from './body.js';
import { type ApiRequest, type ApiResponse, jsonResponse } from './contracts.js';
import { methodNotAllowed } from './errors.js';
import type { OtherResponder } from './handler.js';
import { writeParameters } from './parameters.js';
import type { ApiTarget } from './target.js';
import { WrittenFields } from './written-fields.js';

const reviews: readonly Resource[] = postedKinds
  .filter(({ name }) => !name.includes('/'))
  .map(({ groupVersion, name, kind, namespaced }) => ({
    group: groupVersion.split('/')[0] ?? '',
    version: 'v1',
    plural: name,
    kind,
    namespaced,
  }));

export function postedResponses(api: ServedApi, posted: PostedResponder): OtherResponder {
  return {
    async respond(request, target) {
      const review = reviewAt(request.path);
      if (review !== undefined) return respondToReview(posted, request, review);
      const { name, namespace, subresource, below } = target ?? {};
      if (target === undefined || name === undefined || subresource === undefined || below !== undefined)
        return undefined;
      const ref: ObjectRef = namespace === undefined ? { name } : { namespace, name };
      for (const one of Object.values(subresources)) {
        if (one.of.plural !== target.kind.resource.plural || one.name !== subresource) continue;
        if (request.method !== 'POST') throw methodNotAllowed();
        return jsonResponse(201, await posted.post(one, ref, await postedBody(request)));
      }
      if (subresource === 'finalize' && target.kind.resource.plural === resources.namespaces.plural)
        return finalize(api, request, ref);
      return undefined;
    },
  };
}

function reviewAt(path: string): Resource | undefined {
  return reviews.find(({ group, version, plural, namespaced }) =>
    namespaced
      ? new RegExp(`^/apis/${group}/${version}/namespaces/[^/]+/${plural}$`).test(path)
      : path === `/apis/${group}/${version}/${plural}`,
  );
}

async function respondToReview(
  posted: PostedResponder,
  request: ApiRequest,
  review: Resource,
): Promise<ApiResponse> {
  if (request.method !== 'POST') throw methodNotAllowed();
  const object: KubeObject = await readObject(request, review, new WrittenFields(request.query));
  return jsonResponse(201, await posted.review(review, object, request.user));
}

/** A body that is not an object would make a client's mistake ours. */
async function postedBody(request: ApiRequest): Promise<never> {
  const body = await readDocument(request);
  if (body !== undefined && !isMapping(body))
    throw new ApiError({ code: 400, message: 'the body of the request is no object' });
  // Who answers a subresource checks the members that it reads.
  return (body ?? {}) as never;
}

/** Replaces the finalizers of a namespace's spec; the last one gone lets the namespace go. */
async function finalize(api: ServedApi, request: ApiRequest, ref: ObjectRef): Promise<ApiResponse> {
  if (request.method !== 'PUT') throw methodNotAllowed();
  const given = await readObject(request, resources.namespaces, new WrittenFields(request.query));
  const finalizers = member(given.spec, 'finalizers');
  const current = api.get(resources.namespaces, ref);
  const spec = { finalizers: Array.isArray(finalizers) ? finalizers.map(String) : [] };
  const write = { ...writeParameters(request), subresource: 'finalize' } as const;
  const next = await api.update(resources.namespaces, { ...current, spec }, write);
  return jsonResponse(200, { apiVersion: 'v1', kind: 'Namespace', ...next });
}

export type { ApiTarget };
