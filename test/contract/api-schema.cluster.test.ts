/** Holds the types of the API that nodelet serves to those of a real API server, as its OpenAPI documents tell them. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { servedKinds } from '../../src/kube-api/index.js';
import { openApiV3 } from '../../src/kube-api/schema/openapi.js';
import { type ControlPlane, startControlPlane } from '../env/control-plane.js';

type SchemaNode = { readonly [member: string]: unknown };

/** What is compared of a field; descriptions are our own, and defaults are those of the kinds' rules. */
const compared = [
  '$ref',
  'type',
  'format',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-patch-merge-key',
] as const;

/** Fields that hold anything: the server has names for such types, and nodelet has none. */
const untyped: ReadonlySet<string> = new Set(['fieldsV1', 'data']);

let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane({});
});
afterAll(() => plane?.stop());

const ours = openApiV3(servedKinds, 'v1.37.1');

it.each([...ours.keys()])('%s', async (path) => {
  const { stdout } = await plane.kubectl(['get', '--raw', `/openapi/v3/${path}`]);
  const theirs: SchemaNode = JSON.parse(stdout);
  const unknown = Object.entries(schemasOf(ours.get(path) ?? {}))
    .filter(([name, type]) => type.type === 'object' && !Object.hasOwn(schemasOf(theirs), name))
    .map(([name]) => name);
  expect(unknown).toEqual([]);
  expect(flattened(ours.get(path) ?? {}, theirs)).toEqual(flattened(theirs, ours.get(path) ?? {}));
});

/** One line for each field of the types that both documents have. */
function flattened(document: SchemaNode, other: SchemaNode): readonly string[] {
  const lines: string[] = [];
  for (const [name, type] of Object.entries(schemasOf(document))) {
    // Lists, deletions and options are no types of objects that are stored.
    if (!Object.hasOwn(schemasOf(other), name) || Object.keys(type.properties ?? {}).length === 0) continue;
    const required = [...((type.required as string[] | undefined) ?? [])].sort();
    lines.push(`${name} required=${required.join()} whole=${String(type['x-kubernetes-map-type'])}`);
    for (const [field, node] of Object.entries(type.properties as Record<string, SchemaNode>))
      if (!untyped.has(field)) lines.push(`${name}.${field} ${fieldText(node)}`);
  }
  return lines.sort();
}

function schemasOf(document: SchemaNode): Record<string, SchemaNode> {
  return (document.components as { schemas: Record<string, SchemaNode> }).schemas;
}

function fieldText(node: SchemaNode): string {
  const [reference] = (node.allOf as SchemaNode[] | undefined) ?? [node];
  const facts = compared.map((member) => `${member}=${String(node[member] ?? reference?.[member] ?? '')}`);
  const below = (node.items ?? node.additionalProperties) as SchemaNode | undefined;
  const merges = String(node['x-kubernetes-patch-strategy'] ?? '').includes('merge');
  return `${facts.join(' ')} merges=${merges}${below === undefined ? '' : ` of (${fieldText(below)})`}`;
}
