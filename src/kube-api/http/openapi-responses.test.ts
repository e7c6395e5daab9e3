import { describe, expect, it } from 'vitest';
import { servedKinds } from '../kinds/kinds.js';
import type { ApiResponse } from './contracts.js';
import { openApiResponses } from './openapi-responses.js';

const responder = openApiResponses({ kinds: servedKinds, kubernetesVersion: 'v1.37.1' });

async function get(target: string, headers: Record<string, string> = {}): Promise<ApiResponse> {
  const [path = '', query = ''] = target.split('?');
  const request = {
    method: 'GET',
    path,
    query: new URLSearchParams(query),
    headers,
    user: { name: 'owner', groups: [] },
  };
  const response = await responder.respond(request, undefined);
  if (response === undefined) throw new Error(`${path} is not known here`);
  return response;
}

// biome-ignore lint/suspicious/noExplicitAny: a test reads members of any document.
const parsed = ({ body }: ApiResponse): any => JSON.parse(String(body));

/** Every reference of a document, at any depth. */
function references(node: unknown): string[] {
  if (typeof node !== 'object' || node === null) return [];
  return Object.entries(node).flatMap(([key, value]) =>
    key === '$ref' ? [String(value)] : references(value),
  );
}

describe('version 3', () => {
  it('has an index whose addresses lead to documents that never change', async () => {
    const { paths } = parsed(await get('/openapi/v3'));
    expect(Object.keys(paths)).toEqual(expect.arrayContaining(['api/v1', 'apis/apps/v1', 'apis/batch/v1']));
    const { serverRelativeURL } = paths['apis/apps/v1'];
    const found = await get(serverRelativeURL);
    expect(found).toMatchObject({ status: 200, headers: { 'Cache-Control': 'public, immutable' } });
    const tag = found.headers.ETag ?? '';
    expect((await get(serverRelativeURL, { 'if-none-match': tag })).status).toBe(304);
    expect(await get('/openapi/v3/apis/apps/v1?hash=OLD')).toMatchObject({
      status: 301,
      headers: { Location: serverRelativeURL },
    });
  });

  it.each(['api/v1', 'apis/apps/v1', 'apis/batch/v1', 'apis/storage.k8s.io/v1'])(
    '%s refers only to what it has',
    async (path) => {
      const document = parsed(await get(`/openapi/v3/${path}`));
      const missing = references(document)
        .map((one) => one.replace('#/components/schemas/', ''))
        .filter((one) => !Object.hasOwn(document.components.schemas, one));
      expect(missing).toEqual([]);
    },
  );

  it('names the kind of each path, and what a write may ask for', async () => {
    const { paths, components } = parsed(await get('/openapi/v3/apis/apps/v1'));
    const { patch } = paths['/apis/apps/v1/namespaces/{namespace}/deployments/{name}'];
    expect(patch['x-kubernetes-group-version-kind']).toEqual({
      group: 'apps',
      version: 'v1',
      kind: 'Deployment',
    });
    const names = patch.parameters.map(({ name }: { name: string }) => name);
    expect(names).toEqual(['dryRun', 'fieldManager', 'fieldValidation', 'force']);
    expect(components.schemas['io.k8s.api.apps.v1.DeploymentSpec'].required).toEqual([
      'selector',
      'template',
    ]);
    expect(components.schemas['io.k8s.api.core.v1.PodSpec'].properties.containers).toMatchObject({
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
      'x-kubernetes-patch-merge-key': 'name',
    });
  });

  it('has no document of a group that is not served', async () => {
    await expect(get('/openapi/v3/apis/example.com/v1')).rejects.toMatchObject({ code: 404 });
  });
});

it('version 2 is one document as JSON, and its paths as protobuf', async () => {
  const { definitions, swagger } = parsed(await get('/openapi/v2'));
  expect(swagger).toBe('2.0');
  expect(definitions['io.k8s.api.core.v1.Pod']['x-kubernetes-group-version-kind']).toEqual([
    { group: '', kind: 'Pod', version: 'v1' },
  ]);
  const accept = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
  const { headers, body } = await get('/openapi/v2', { accept });
  expect(headers['Content-Type']).toBe(accept.replace('@', '.'));
  expect(String(body)).toContain('/api/v1/namespaces/{namespace}/configmaps/{name}');
  expect(String(body)).toContain('{"group":"apps","kind":"Deployment","version":"v1"}');
  await expect(get('/openapi/v2', { accept: 'text/html' })).rejects.toMatchObject({ code: 406 });
});

it('every kind is described', async () => {
  const { definitions } = parsed(await get('/openapi/v2'));
  const kinds = Object.values<{ description?: string; 'x-kubernetes-group-version-kind'?: unknown }>(
    definitions,
  ).filter((type) => type['x-kubernetes-group-version-kind'] !== undefined);
  expect(kinds.length).toBe(servedKinds.length);
  for (const type of kinds) expect(type.description).toBeTruthy();
});
