/** Reads the objects of a manifest for the API of this node, with the place of each field for messages. */
import {
  type FieldPath,
  type KubeObject,
  type Problem,
  parseSource,
  problemAt,
  type SourceDocument,
  SyntaxProblem,
} from '../../kube/index.js';
import type { ServedKind } from '../../kube-api/index.js';
import { readFields, WrongFieldValue } from '../../kube-api/schema/read-object.js';
import type { ObjectRef } from '../../kube-client/index.js';
import { apiVersionOf } from '../../kube-client/index.js';
import { isMapping } from '../../kube-client/patches/json.js';
import type { FileParse } from '../../pods/sources/held-files.js';

export interface AppliedManifest {
  readonly kind: ServedKind;
  readonly ref: ObjectRef;
  readonly config: KubeObject;
  /** A problem of one of its fields, named as the API names them. */
  readonly problem: (field: string, message: string) => Problem;
}

type Refuse = (path: FieldPath, message: string) => undefined;

export function readManifest(
  text: string,
  file: string,
  kinds: readonly ServedKind[],
): FileParse<readonly AppliedManifest[]> {
  const problems: Problem[] = [];
  const objects: AppliedManifest[] = [];
  try {
    const documents = parseSource(text, file);
    if (documents.length === 0)
      problems.push({ file, line: 0, column: 0, field: '', message: 'it is empty; write an object into it' });
    for (const document of documents) {
      const refuse: Refuse = (path, message) => void problems.push(problemAt(document, path, message));
      for (const key of document.duplicateKeys)
        problems.push({
          file,
          ...key,
          field: key.key,
          message: 'is given more than once; remove the others',
        });
      for (const [value, path] of itemsOf(document)) {
        const object = readObject(value, { document, path, kinds, refuse });
        if (object !== undefined) objects.push(object);
      }
    }
  } catch (error) {
    if (!(error instanceof SyntaxProblem)) throw error;
    problems.push(error.problem);
  }
  return { content: objects, problems, warnings: [] };
}

/** The document, or the items of a list. */
function itemsOf({ value }: SourceDocument): readonly (readonly [unknown, FieldPath])[] {
  if (!isMapping(value) || typeof value.kind !== 'string' || !value.kind.endsWith('List'))
    return [[value, []]];
  if (!Array.isArray(value.items)) return [];
  return value.items.map((item: unknown, index) => [item, ['items', index]] as const);
}

interface ObjectPlace {
  readonly document: SourceDocument;
  readonly path: FieldPath;
  readonly kinds: readonly ServedKind[];
  readonly refuse: Refuse;
}

function readObject(
  value: unknown,
  { document, path, kinds, refuse }: ObjectPlace,
): AppliedManifest | undefined {
  if (!isMapping(value)) return refuse(path, 'expected an object; begin with "apiVersion:" and "kind:"');
  const { apiVersion, kind: name, metadata } = value;
  if (typeof name !== 'string' || name === '')
    return refuse([...path, 'kind'], 'is missing; add for example "kind: Pod"');
  const ofName = kinds.filter(({ resource }) => resource.kind === name);
  const kind = ofName.find(({ resource }) => apiVersionOf(resource) === apiVersion);
  if (kind === undefined) {
    const [other] = ofName;
    return other === undefined
      ? refuse(
          [...path, 'kind'],
          `no ${JSON.stringify(name)} is served by this node; remove it, or correct the name`,
        )
      : refuse([...path, 'apiVersion'], `write "apiVersion: ${apiVersionOf(other.resource)}"`);
  }
  if (!isMapping(metadata) || typeof metadata.name !== 'string' || metadata.name === '')
    return refuse([...path, 'metadata', 'name'], `a ${name} needs a name; add for example "name: web"`);
  const { namespace } = metadata;
  if (namespace !== undefined && (typeof namespace !== 'string' || !kind.resource.namespaced))
    return refuse(
      [...path, 'metadata', 'namespace'],
      `a ${name} ${kind.resource.namespaced ? 'has the name of a namespace here' : 'has no namespace; remove it'}`,
    );
  const place = namespace ?? (kind.resource.namespaced ? 'default' : undefined);
  const ref = { name: metadata.name, ...(place === undefined ? {} : { namespace: place }) };
  const problem = (field: string, message: string): Problem =>
    problemAt(document, [...path, ...fieldPath(field)], message);
  try {
    const { status: _, ...desired } = value;
    const { object, unknownFields } = readFields(name, { ...desired, metadata: { ...metadata, ...ref } });
    for (const field of unknownFields)
      refuse([...path, ...fieldPath(field)], `${name} has no such field; remove it, or correct its name`);
    // Read by the schema of its kind.
    if (unknownFields.length === 0) return { kind, ref, config: object as unknown as KubeObject, problem };
  } catch (error) {
    if (!(error instanceof WrongFieldValue)) throw error;
    return refuse(path, `${error.message}; correct the value`);
  }
  return undefined;
}

/** `spec.containers[0].image` and `.data.a` as the parts of a path. */
export function fieldPath(field: string): FieldPath {
  return [...field.matchAll(/[^.[\]]+|\[([^\]]*)\]/g)].map(([part, key]) => {
    const text = key ?? part;
    return key !== undefined && /^\d+$/.test(text) ? Number(text) : text.replace(/^"|"$/g, '');
  });
}
