/** A request to apply a configuration: what it must say, and the configuration itself. */
import { ApiError } from '../../kube-client/api-error.js';
import { isMapping, member } from '../../kube-client/patches/json.js';
import type { ObjectRef } from '../../kube-client/port.js';
import { apiVersionOf, type ObjectSubresource, type Resource } from '../../kube-client/resources.js';
import type { ObjectWrite } from '../objects/write-rules.js';
import { readDocument } from './body.js';
import type { ApiRequest } from './contracts.js';
import { flag, writeParameters } from './parameters.js';

export const applyType = 'application/apply-patch+yaml';

export function applyParameters(
  request: ApiRequest,
  subresource: ObjectSubresource | undefined,
): ObjectWrite {
  if ((request.query.get('fieldManager') ?? '') === '')
    throw new ApiError({
      code: 422,
      reason: 'Invalid',
      message:
        'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
    });
  return {
    ...writeParameters(request),
    ...(subresource === undefined ? {} : { subresource }),
    force: flag(request.query, 'force'),
  };
}

/** The configuration, which names the object of the path. */
export async function readConfiguration(
  request: ApiRequest,
  resource: Resource,
  { name, namespace }: ObjectRef,
): Promise<Record<string, unknown>> {
  const config = await readDocument(request, [applyType]);
  if (!isMapping(config)) throw refused('error decoding patch: the configuration is no object');
  const { apiVersion, kind } = config;
  if (apiVersion !== apiVersionOf(resource) || kind !== resource.kind)
    throw refused(`invalid object type: ${String(apiVersion ?? '')}, Kind=${String(kind ?? '')}`);
  const given = member(config.metadata, 'name');
  if (given === undefined)
    throw refused(`the name of the object (${name} based on URL) was undeterminable: name must be provided`);
  if (given !== name)
    throw refused(`the name of the object (${String(given)}) does not match the name on the URL (${name})`);
  const place = member(config.metadata, 'namespace') ?? namespace;
  if (namespace !== undefined && place !== namespace)
    throw refused(
      `the namespace of the object (${String(place)}) does not match the namespace on the request (${namespace})`,
    );
  const metadata = isMapping(config.metadata) ? config.metadata : {};
  return { ...config, metadata: { ...metadata, ...(namespace === undefined ? {} : { namespace }) } };
}

function refused(message: string): ApiError {
  return new ApiError({ code: 400, message });
}
