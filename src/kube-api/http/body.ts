/** Reads the body of a request as JSON, YAML or protobuf, within limits. */
import { parseSource } from '../../kube/manifests/document.js';
import { agentLimits } from '../../kube/manifests/document-limits.js';
import { parseJson } from '../../kube/manifests/json-text.js';
import type { KubeObject } from '../../kube/types/index.js';
import { ApiError } from '../../kube-client/api-error.js';
import { isMapping } from '../../kube-client/patches/json.js';
import { apiVersionOf, type Resource } from '../../kube-client/resources.js';
import type { ApiRequest } from './contracts.js';
import { readProtobuf } from './protobuf-body.js';
import type { WrittenFields } from './written-fields.js';

const protobufType = 'application/vnd.kubernetes.protobuf';
const objectTypes: readonly string[] = ['application/json', 'application/yaml', protobufType];

export function mediaTypeOf({ headers }: Pick<ApiRequest, 'headers'>): string {
  const [type = ''] = String(headers['content-type'] ?? '').split(';', 1);
  return type.trim().toLowerCase();
}

/** Undefined when there is no body. */
export async function readDocument(
  request: ApiRequest,
  allowed: readonly string[] = objectTypes,
): Promise<unknown> {
  const bytes = (await request.readBody?.()) ?? Buffer.alloc(0);
  if (bytes.length === 0) return undefined;
  const type = mediaTypeOf(request) || 'application/json';
  if (!allowed.includes(type)) {
    const message = `the body of the request was in an unknown format - accepted media types include: ${allowed.join(', ')}`;
    throw new ApiError({ code: 415, message });
  }
  if (type === protobufType) return readProtobuf(bytes);
  return parseDocument(bytes.toString('utf8'), type);
}

function parseDocument(text: string, type: string): unknown {
  try {
    return type.includes('yaml') ? parseSource(text, 'the body')[0]?.value : parseJson(text, agentLimits);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ApiError({ code: 400, message: `the body of the request cannot be read: ${why}` });
  }
}

/** A whole object of this resource. */
export async function readObject<T extends KubeObject>(
  request: ApiRequest,
  resource: Resource<T>,
  fields: WrittenFields,
): Promise<T> {
  const value = await readDocument(request);
  if (!isMapping(value)) throw new ApiError({ code: 400, message: 'the body of the request is no object' });
  const wanted = apiVersionOf(resource);
  const { apiVersion = wanted, kind = resource.kind, metadata = {} } = value;
  if (apiVersion !== wanted || kind !== resource.kind) {
    const message = `the object provided is unrecognized (must be of type ${resource.kind}): ${JSON.stringify(`${String(apiVersion)}, Kind=${String(kind)}`)} where ${wanted} was expected`;
    throw new ApiError({ code: 400, message });
  }
  // The schema of the kind says what its fields hold; their values are validated before anything is stored.
  return fields.posted(resource, { ...value, apiVersion, kind, metadata: metadata ?? {} }) as unknown as T;
}
