/**
 * The paths of the OpenAPI document of version 2 as protobuf: kubectl reads them in this form to learn what writes may
 * ask for before it applies a list. The numbers are those of the fields of `openapi.v2.Document`.
 */
import { apiVersionOf } from '../../kube-client/resources.js';
import type { ServedKind } from '../kinds/served-kind.js';

export const openApiV2Protobuf = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';

const parameters = ['dryRun', 'fieldManager', 'fieldValidation', 'force'];

export function openApiV2Paths(kinds: readonly ServedKind[], version: string): Buffer {
  const info = Buffer.concat([text(1, 'Kubernetes'), text(2, version)]);
  const paths = kinds.map((kind) => {
    const { group, plural, namespaced } = kind.resource;
    const root = `/${group === '' ? 'api' : 'apis'}/${apiVersionOf(kind.resource)}`;
    const path = `${root}${namespaced ? '/namespaces/{namespace}' : ''}/${plural}/{name}`;
    // The only operation of the path is its patch.
    return part(2, text(1, path), part(2, part(8, ...patchOf(kind))));
  });
  return Buffer.concat([text(1, '2.0'), part(2, info), part(8, ...paths)]);
}

function patchOf({ resource: { group, version, kind } }: ServedKind): Buffer[] {
  const queries = parameters.map((name) =>
    part(8, part(1, part(2, part(3, text(2, 'query'), text(4, name), text(6, 'string'))))),
  );
  const names = JSON.stringify({ group, kind, version });
  const extensions = [
    ['x-kubernetes-action', 'patch'],
    ['x-kubernetes-group-version-kind', names],
  ].map(([name = '', yaml = '']) => part(13, text(1, name), part(2, text(2, yaml))));
  return [...queries, ...extensions];
}

function text(field: number, value: string): Buffer {
  return part(field, Buffer.from(value));
}

/** A field with its length. */
function part(field: number, ...contents: readonly Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  return Buffer.concat([varint(field * 8 + 2), varint(content.length), content]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return Buffer.from([...bytes, rest]);
}
