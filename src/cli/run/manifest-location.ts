/** Reads a part of a document as a document of its own; problems still name the position in the whole document. */
import {
  type FieldPath,
  formatFieldPath,
  InvalidManifest,
  type Mapping,
  type Problem,
  problemAt,
  type SourceDocument,
} from '../../kube/index.js';

export interface ManifestLocation {
  readonly document: SourceDocument;
  /** From the root of the document. */
  readonly path: FieldPath;
}

export function placeAt(place: ManifestLocation, ...more: readonly (string | number)[]): ManifestLocation {
  return { document: place.document, path: [...place.path, ...more] };
}

export function problemOf({ document, path }: ManifestLocation, message: string): Problem {
  return problemAt(document, path, message);
}

/** Throws an InvalidManifest with one problem. */
export function refuse(place: ManifestLocation, message: string): never {
  throw new InvalidManifest([problemOf(place, message)]);
}

/** Wraps a value as a document whose fields are below the place. */
export function documentAt({ document, path }: ManifestLocation, value: unknown): SourceDocument {
  return {
    file: document.file,
    value,
    duplicateKeys: [],
    locate: (below) => document.locate([...path, ...below]),
  };
}

/** Returns a problem of such a document with the full path of its field. */
export function belowPlace({ path }: ManifestLocation, problem: Problem): Problem {
  const prefix = formatFieldPath(path);
  if (prefix === '' || problem.field === '') return { ...problem, field: prefix || problem.field };
  return {
    ...problem,
    field: problem.field.startsWith('[') ? prefix + problem.field : `${prefix}.${problem.field}`,
  };
}

/** Calls `read`, and puts the path of the place before the fields of the problems that it throws. */
export function readBelow<T>(place: ManifestLocation, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof InvalidManifest)) throw error;
    throw new InvalidManifest(error.problems.map((problem) => belowPlace(place, problem)));
  }
}

export function isMapping(value: unknown): value is Mapping {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the mapping of that name; an empty one when it is absent. */
export function mappingIn(value: Mapping, place: ManifestLocation, field: string): Mapping {
  const member = value[field];
  if (member === undefined || member === null) return {};
  return isMapping(member)
    ? member
    : refuse(placeAt(place, field), 'expected a mapping; write its fields on the following lines, indented');
}

/** Returns a number of pods; the default when it is absent. */
export function countIn(value: Mapping, place: ManifestLocation, field: string, byDefault: number): number {
  const member = value[field];
  if (member === undefined || member === null) return byDefault;
  if (typeof member === 'number' && Number.isInteger(member) && member >= 0) return member;
  return refuse(placeAt(place, field), 'expected a whole number that is not negative; write digits only');
}

/** Returns the name of an object, which is required. */
export function nameIn(value: Mapping, place: ManifestLocation): string {
  const { name } = mappingIn(value, place, 'metadata');
  if (typeof name === 'string' && /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(name) && name.length <= 253)
    return name;
  const hint = 'use lower-case letters, digits, "-" and ".", and start and end with a letter or digit';
  return refuse(
    placeAt(place, 'metadata', 'name'),
    name === undefined ? `a ${String(value.kind)} needs a name; add one: ${hint}` : `not a name: ${hint}`,
  );
}

export function namespaceIn(value: Mapping, place: ManifestLocation): string {
  const { namespace } = mappingIn(value, place, 'metadata');
  if (namespace === undefined || namespace === null || namespace === '') return 'default';
  if (typeof namespace === 'string') return namespace;
  return refuse(placeAt(place, 'metadata', 'namespace'), 'expected a string; put it in quotes');
}
