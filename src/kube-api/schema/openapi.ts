/** The OpenAPI documents of the API, made from its types: version 3 by group and version, and version 2 in one. */
import { apiVersionOf } from '../../kube-client/resources.js';
import type { ServedKind } from '../kinds/served-kind.js';
import {
  type ApiField,
  type ApiObjectType,
  type ApiScalar,
  type ApiValueType,
  apiType,
} from './api-types.js';
import { describeField, describeType } from './descriptions.js';
import { isWholeType } from './merge-rules.js';
import { openApiPaths } from './openapi-paths.js';
import { publishedName } from './packages.js';

/** A document or a part of it. */
export type OpenApiNode = { readonly [member: string]: unknown };
type OpenApiForm = 'v2' | 'v3';

const refPrefixes = { v2: '#/definitions/', v3: '#/components/schemas/' } as const;
const time = 'io.k8s.apimachinery.pkg.apis.meta.v1.Time';
const microTime = 'io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime';
const quantity = 'io.k8s.apimachinery.pkg.api.resource.Quantity';
const intOrString = 'io.k8s.apimachinery.pkg.util.intstr.IntOrString';

/** Documents of version 3 by their path below `/openapi/v3/`, as in `apis/apps/v1`. */
export function openApiV3(kinds: readonly ServedKind[], version: string): ReadonlyMap<string, OpenApiNode> {
  const byPath = new Map<string, ServedKind[]>();
  for (const kind of kinds) {
    const path = `${kind.resource.group === '' ? 'api' : 'apis'}/${apiVersionOf(kind.resource)}`;
    byPath.set(path, [...(byPath.get(path) ?? []), kind]);
  }
  return new Map(
    [...byPath].map(([path, some]) => [
      path,
      {
        openapi: '3.0.0',
        info: { title: 'Kubernetes', version },
        paths: openApiPaths(some, (kind) => `${refPrefixes.v3}${publishedName(kind.resource.kind)}`),
        components: { schemas: schemasOf(some, 'v3') },
      },
    ]),
  );
}

export function openApiV2(kinds: readonly ServedKind[], version: string): OpenApiNode {
  return {
    swagger: '2.0',
    info: { title: 'Kubernetes', version },
    paths: openApiPaths(kinds, (kind) => `${refPrefixes.v2}${publishedName(kind.resource.kind)}`),
    definitions: schemasOf(kinds, 'v2'),
  };
}

function schemasOf(kinds: readonly ServedKind[], form: OpenApiForm): OpenApiNode {
  const result: Record<string, unknown> = {
    [time]: { type: 'string', format: 'date-time', description: 'An instant, as in 2006-01-02T15:04:05Z.' },
    [microTime]: {
      type: 'string',
      format: 'date-time',
      description: 'An instant with microseconds, as in 2006-01-02T15:04:05.000000Z.',
    },
    [quantity]: {
      ...(form === 'v2' ? { type: 'string' } : { oneOf: [{ type: 'string' }, { type: 'number' }] }),
      description: 'An amount with an optional unit, as in 100m, 2 or 1Gi.',
    },
    [intOrString]: {
      ...(form === 'v2' ? { type: 'string' } : { oneOf: [{ type: 'integer' }, { type: 'string' }] }),
      format: 'int-or-string',
      description: 'A number, or a name or percentage.',
    },
  };
  for (const { resource, subresources } of kinds) {
    const { group, version, kind } = resource;
    const type = apiType(kind);
    if (type === undefined) continue;
    addType(type, form, result);
    const name = publishedName(kind);
    result[name] = {
      ...(result[name] as OpenApiNode),
      'x-kubernetes-group-version-kind': [{ group, kind, version }],
    };
    const scale = subresources.includes('scale') ? apiType('Scale') : undefined;
    if (scale !== undefined) addType(scale, form, result);
  }
  return result;
}

function addType(type: ApiObjectType, form: OpenApiForm, result: Record<string, unknown>): void {
  const name = publishedName(type.name);
  if (Object.hasOwn(result, name)) return;
  const description = describeType(type.name);
  const required = [...type.fields.values()].filter((field) => field.isRequired).map((field) => field.name);
  // Named before its fields are added, so that a type may contain itself.
  const schema: Record<string, unknown> = {
    ...(description === undefined ? {} : { description }),
    type: 'object',
    ...(required.length === 0 ? {} : { required: required.sort() }),
    ...(isWholeType(type.name) ? { 'x-kubernetes-map-type': 'atomic' } : {}),
  };
  result[name] = schema;
  const fields = [...type.fields.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  schema.properties = Object.fromEntries(
    fields.map((field) => {
      addTypesOf(field.value, form, result);
      return [field.name, fieldNode(type.name, field, form)];
    }),
  );
}

function addTypesOf(value: ApiValueType, form: OpenApiForm, result: Record<string, unknown>): void {
  if (value.kind === 'object') addType(value.type, form, result);
  else if (value.kind !== 'scalar') addTypesOf(value.item, form, result);
}

function fieldNode(type: string, field: ApiField, form: OpenApiForm): OpenApiNode {
  const description = describeField(type, field.name);
  const node = valueNode(field.value, form);
  const { value, merge } = field;
  return {
    ...(description === undefined ? {} : { description }),
    // Members beside a reference are not read.
    ...(node.$ref === undefined ? node : { allOf: [node] }),
    ...(field.isAlwaysPresent ? { default: {} } : {}),
    ...(value.kind === 'mapping' && value.whole ? { 'x-kubernetes-map-type': 'atomic' } : {}),
    ...(value.kind === 'object' && !value.whole && isWholeType(value.type.name)
      ? { 'x-kubernetes-map-type': 'granular' }
      : {}),
    ...(value.kind === 'list' ? { 'x-kubernetes-list-type': value.rule.kind } : {}),
    ...(value.kind === 'list' && value.rule.kind === 'map'
      ? { 'x-kubernetes-list-map-keys': [...value.rule.keys] }
      : {}),
    ...(merge === undefined ? {} : { 'x-kubernetes-patch-strategy': 'merge' }),
    ...(typeof merge === 'string' ? { 'x-kubernetes-patch-merge-key': merge } : {}),
  };
}

function valueNode(value: ApiValueType, form: OpenApiForm): OpenApiNode {
  switch (value.kind) {
    case 'scalar':
      return scalarNode(value.scalar, form);
    case 'list':
      return { type: 'array', items: valueNode(value.item, form) };
    case 'mapping':
      return { type: 'object', additionalProperties: valueNode(value.item, form) };
    case 'object':
      return { $ref: `${refPrefixes[form]}${publishedName(value.type.name)}` };
  }
}

function scalarNode(scalar: ApiScalar, form: OpenApiForm): OpenApiNode {
  const ref = (name: string): OpenApiNode => ({ $ref: `${refPrefixes[form]}${name}` });
  switch (scalar) {
    case 'string':
      return { type: 'string' };
    case 'bool':
      return { type: 'boolean' };
    case 'int32':
    case 'int64':
      return { type: 'integer', format: scalar };
    case 'bytes':
      return { type: 'string', format: 'byte' };
    case 'any':
      return { type: 'object' };
    case 'quantity':
      return ref(quantity);
    case 'intOrString':
      return ref(intOrString);
    case 'time':
      return ref(time);
    case 'microTime':
      return ref(microTime);
  }
}
