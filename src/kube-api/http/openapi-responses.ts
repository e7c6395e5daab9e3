/** Answers `/openapi/v2` and `/openapi/v3`. The documents are made when the first client asks for them. */
import { createHash } from 'node:crypto';
import { ApiError } from '../../kube-client/api-error.js';
import type { ServedKind } from '../kinds/served-kind.js';
import { type ApiRequest, type ApiResponse, jsonResponse } from './contracts.js';
import { methodNotAllowed, notServed } from './errors.js';
import type { OtherResponder } from './handler.js';

interface OpenApiFacts {
  readonly kinds: readonly ServedKind[];
  /** `v1.37.1` */
  readonly kubernetesVersion: string;
}

interface HashedDocument {
  readonly text: string;
  readonly hash: string;
}

interface OpenApiDocuments {
  readonly v2: HashedDocument;
  readonly v3: ReadonlyMap<string, HashedDocument>;
}

const root = '/openapi/v3';

export function openApiResponses(facts: OpenApiFacts): OtherResponder {
  let documents: Promise<OpenApiDocuments> | undefined;
  return {
    async respond(request) {
      const path = request.path.replace(/\/$/, '');
      if (path !== '/openapi/v2' && path !== root && !path.startsWith(`${root}/`)) return undefined;
      if (request.method !== 'GET' && request.method !== 'HEAD') throw methodNotAllowed();
      if (path === '/openapi/v2' && !takesJson(request)) return protobufResponse(request, facts);
      documents ??= makeDocuments(facts);
      const { v2, v3 } = await documents;
      if (path === '/openapi/v2') return documentResponse(request, v2);
      if (path === root) return jsonResponse(200, indexOf(v3));
      const name = path.slice(root.length + 1);
      const found = v3.get(name);
      if (found === undefined) throw notServed();
      const wanted = request.query.get('hash');
      if (wanted !== null && wanted !== found.hash)
        return { status: 301, headers: { Location: addressOf(name, found) }, body: '' };
      return documentResponse(
        request,
        found,
        wanted === null ? {} : { 'Cache-Control': 'public, immutable' },
      );
    },
  };
}

async function makeDocuments({ kinds, kubernetesVersion }: OpenApiFacts): Promise<OpenApiDocuments> {
  const { openApiV2, openApiV3 } = await import('../schema/openapi.js');
  const v3 = [...openApiV3(kinds, kubernetesVersion)].map(([name, document]): [string, HashedDocument] => [
    name,
    hashed(document),
  ]);
  return { v2: hashed(openApiV2(kinds, kubernetesVersion)), v3: new Map(v3) };
}

function hashed(document: unknown): HashedDocument {
  const text = JSON.stringify(document);
  return { text, hash: createHash('sha256').update(text).digest('hex').toUpperCase() };
}

function indexOf(documents: ReadonlyMap<string, HashedDocument>): unknown {
  const paths = [...documents].map(([name, document]): [string, unknown] => [
    name,
    { serverRelativeURL: addressOf(name, document) },
  ]);
  return { paths: Object.fromEntries(paths) };
}

function addressOf(name: string, { hash }: HashedDocument): string {
  return `${root}/${name}?hash=${hash}`;
}

function documentResponse(
  { headers }: ApiRequest,
  { text, hash }: HashedDocument,
  more: Readonly<Record<string, string>> = {},
): ApiResponse {
  const tag = { ETag: JSON.stringify(hash), Vary: 'Accept' };
  if (String(headers['if-none-match'] ?? '').includes(tag.ETag))
    return { status: 304, headers: tag, body: '' };
  return jsonResponse(200, text, { ...tag, ...more });
}

function takesJson({ headers }: ApiRequest): boolean {
  const accept = String(headers.accept ?? '');
  return accept === '' || /application\/json|\*\/\*|application\/\*/.test(accept);
}

/** kubectl reads version 2 only as protobuf, and of it only the paths. */
async function protobufResponse(
  { headers }: ApiRequest,
  { kinds, kubernetesVersion }: OpenApiFacts,
): Promise<ApiResponse> {
  const { openApiV2Paths, openApiV2Protobuf } = await import('../schema/openapi-protobuf.js');
  if (!String(headers.accept).includes(openApiV2Protobuf)) {
    const message = 'only the following media types are accepted: application/json';
    throw new ApiError({ code: 406, message });
  }
  const body = openApiV2Paths(kinds, kubernetesVersion);
  // The name that clients ask for is no media type.
  const contentType = openApiV2Protobuf.replace('@', '.');
  return { status: 200, headers: { 'Content-Type': contentType, Vary: 'Accept' }, body };
}
