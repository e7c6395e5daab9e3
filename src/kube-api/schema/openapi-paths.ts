/** The paths of OpenAPI documents: enough for clients to find a kind's schema and what a request may ask for. */
import { apiVersionOf } from '../../kube-client/resources.js';
import type { ServedKind } from '../kinds/served-kind.js';
import type { OpenApiNode } from './openapi.js';

const query = (name: string, type = 'string'): OpenApiNode => ({
  name,
  in: 'query',
  schema: { type, uniqueItems: true },
  // Documents of version 2 have the type here.
  type,
  uniqueItems: true,
});
const inPath = (name: string): OpenApiNode => ({
  name,
  in: 'path',
  required: true,
  schema: { type: 'string', uniqueItems: true },
  type: 'string',
  uniqueItems: true,
});

const pretty = query('pretty');
const writing = [query('dryRun'), query('fieldManager'), query('fieldValidation')];
const selecting = [
  query('fieldSelector'),
  query('labelSelector'),
  query('limit', 'integer'),
  query('continue'),
  query('resourceVersion'),
  query('watch', 'boolean'),
];
const deleting = [query('dryRun'), query('gracePeriodSeconds', 'integer'), query('propagationPolicy')];

type RefOf = (kind: ServedKind) => string;

export function openApiPaths(kinds: readonly ServedKind[], refOf: RefOf): OpenApiNode {
  return Object.fromEntries(kinds.flatMap((kind) => pathsOf(kind, refOf)));
}

function pathsOf(kind: ServedKind, refOf: RefOf): [string, OpenApiNode][] {
  const { resource, verbs } = kind;
  const root = `/${resource.group === '' ? 'api' : 'apis'}/${apiVersionOf(resource)}`;
  const place = resource.namespaced ? `${root}/namespaces/{namespace}` : root;
  const placed = resource.namespaced ? [inPath('namespace'), pretty] : [pretty];
  const operation = (action: string, parameters: readonly OpenApiNode[], many = false): OpenApiNode =>
    operationOf(kind, refOf, action, parameters, many);
  const collection = {
    get: operation('list', selecting, true),
    post: operation('post', writing),
    delete: operation('deletecollection', [...deleting, ...selecting], true),
    parameters: placed,
  };
  const object = {
    get: operation('get', []),
    put: operation('put', writing),
    patch: operation('patch', [...writing, query('force', 'boolean')]),
    parameters: [inPath('name'), ...placed],
  };
  const named = `${place}/${resource.plural}/{name}`;
  const everywhere: [string, OpenApiNode][] = resource.namespaced
    ? [[`${root}/${resource.plural}`, { get: collection.get, parameters: [pretty] }]]
    : [];
  // A kind that names its verbs is only read.
  if (verbs !== undefined)
    return [
      ...everywhere,
      [`${place}/${resource.plural}`, { get: collection.get, parameters: collection.parameters }],
      [named, { get: object.get, parameters: object.parameters }],
    ];
  return [
    ...everywhere,
    [`${place}/${resource.plural}`, collection],
    [named, { ...object, delete: operation('delete', deleting) }],
    ...kind.subresources
      .filter((name) => name !== 'scale')
      .map((name): [string, OpenApiNode] => [`${named}/${name}`, object]),
  ];
}

function operationOf(
  kind: ServedKind,
  refOf: RefOf,
  action: string,
  parameters: readonly OpenApiNode[],
  many: boolean,
): OpenApiNode {
  const { group, version, kind: name } = kind.resource;
  const schema = { $ref: refOf(kind) };
  return {
    description: `${action} ${name}`,
    parameters,
    responses: {
      200: { description: 'OK', ...(many ? {} : { content: { 'application/json': { schema } }, schema }) },
    },
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': { group, kind: name, version },
  };
}
