/** The patch of a request, by its media type. */
import { ApiError } from '../../kube-client/api-error.js';
import type { JsonPatchOperation, Patch } from '../../kube-client/port.js';
import { kubeApiLimits } from '../limits.js';
import { applyType } from './apply-request.js';
import { mediaTypeOf, readDocument } from './body.js';
import type { ApiRequest } from './contracts.js';

const patchTypes: ReadonlyMap<string, Patch['type']> = new Map([
  ['application/json-patch+json', 'json'],
  ['application/merge-patch+json', 'merge'],
  ['application/strategic-merge-patch+json', 'strategic'],
]);

const { patchOperations: mostOperations } = kubeApiLimits;

export async function readPatch(request: ApiRequest): Promise<Patch> {
  const type = patchTypes.get(mediaTypeOf(request));
  const body = await readDocument(request, [...patchTypes.keys()]);
  if (type === undefined)
    throw new ApiError({
      code: 415,
      message: `the patch is of an unknown type; known ones are ${[...patchTypes.keys(), applyType].join(', ')}`,
    });
  if (type !== 'json') return { type, body };
  if (!Array.isArray(body))
    throw new ApiError({ code: 400, message: 'a JSON patch is a list of operations' });
  if (body.length > mostOperations)
    throw new ApiError({
      code: 413,
      message: `the allowed maximum operations in a JSON patch is ${mostOperations}, got ${body.length}`,
    });
  return { type, body: body.map(operationOf) };
}

function operationOf(value: unknown): JsonPatchOperation {
  const { op, path, from } = (typeof value === 'object' && value !== null ? value : {}) as Record<
    string,
    unknown
  >;
  const isKnown = typeof op === 'string' && ['add', 'remove', 'replace', 'move', 'copy', 'test'].includes(op);
  const isWhole = typeof path === 'string' && ((op !== 'move' && op !== 'copy') || typeof from === 'string');
  if (!isKnown || !isWhole)
    throw new ApiError({
      code: 400,
      message: 'an operation of a JSON patch needs "op", "path" and, to move or copy, "from"',
    });
  // Its members were checked above.
  return value as JsonPatchOperation;
}
