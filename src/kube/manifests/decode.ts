/**
 * Decodes a parsed document into objects, and reports every wrongly typed and every unknown field at once.
 */

import type { ConfigMap, Secret } from '../types/objects.js';
import type { PersistentVolume, PersistentVolumeClaim } from '../types/persistent-volume.js';
import type { PodManifest } from '../types/pod.js';
import { setOwn } from '../values/deep-equal.js';
import { parseTimestamp } from '../values/go-format.js';
import { formatQuantity, InvalidQuantity, parseQuantity } from '../values/quantity.js';
import type { FieldPath, Mapping, SourceDocument } from './document.js';
import { maxProblems } from './document-limits.js';
import { InvalidManifest, type Problem, problemAt } from './problem.js';
import type { ManifestScalarKind } from './schema/fields.js';
import {
  nearestField,
  type ObjectSchema,
  objectSchema,
  requiredFields,
  type ValueSchema,
  zeroValue,
} from './schema.js';

export interface DecodedPods {
  readonly pods: PodManifest[];
  /** Unknown fields and keys written twice; the agent works as if they were not there. */
  readonly warnings: Problem[];
}

/** The objects that manifests may hold. */
export type ManifestObject =
  | (PodManifest & { kind: 'Pod' })
  | (ConfigMap & { kind: 'ConfigMap' })
  | (Secret & { kind: 'Secret' })
  | (PersistentVolume & { kind: 'PersistentVolume' })
  | (PersistentVolumeClaim & { kind: 'PersistentVolumeClaim' });

export type ManifestKind = ManifestObject['kind'];

export interface DecodedObject {
  readonly object: ManifestObject;
  /** The object's place in its document: empty, or `['items', 2]` in a list. */
  readonly path: FieldPath;
}

export interface DecodedObjects {
  readonly objects: DecodedObject[];
  readonly warnings: Problem[];
}

/** The pods of a `v1` Pod, PodList or List. Throws `InvalidManifest` with all problems. */
export function decodePods(document: SourceDocument): DecodedPods {
  const { objects, warnings } = decode(document, podKinds);
  return { pods: objects.flatMap(({ object }) => (object.kind === 'Pod' ? [object] : [])), warnings };
}

/** The objects of these kinds in a `v1` document or list. Throws `InvalidManifest` with all problems. */
export function decodeObjects(document: SourceDocument, kinds: readonly ManifestKind[]): DecodedObjects {
  return decode(document, {
    kinds,
    expected: kinds.join(', '),
    refusal: `only ${kinds.join(', ')} are allowed here`,
  });
}

interface AcceptedKinds {
  readonly kinds: readonly ManifestKind[];
  readonly expected: string;
  readonly refusal: string;
}

const podKinds: AcceptedKinds = { kinds: ['Pod'], expected: 'Pod', refusal: 'only pods can be run here' };

function decode(document: SourceDocument, accepted: AcceptedKinds): DecodedObjects {
  const decoder = new Decoder(document, accepted);
  const objects = decoder.objects();
  decoder.countOtherUnknown();
  for (const { key, line, column } of document.duplicateKeys) {
    const message = `"${key}" is given more than once here and the last one counts; remove the others`;
    decoder.warnings.push({ file: document.file, line, column, field: key, message });
  }
  if (decoder.problems.length > 0) throw new InvalidManifest(decoder.problems);
  return { objects, warnings: decoder.warnings };
}

/** Walks one document; `path` is always the field being read. */
class Decoder {
  readonly problems: Problem[] = [];
  readonly warnings: Problem[] = [];
  private unknownFields = 0;
  private readonly path: (string | number)[] = [];

  constructor(
    private readonly document: SourceDocument,
    private readonly accepted: AcceptedKinds,
  ) {}

  objects(): DecodedObject[] {
    const { value } = this.document;
    if (!isMapping(value)) {
      this.fail(
        `expected a ${this.accepted.expected}, found ${describe(value)}; begin with "apiVersion: v1" and "kind: ${this.accepted.kinds[0]}"`,
      );
      return [];
    }
    if (value.kind === 'List') return this.list(value, undefined);
    const listed = this.accepted.kinds.find((kind) => value.kind === `${kind}List`);
    return listed === undefined ? this.one(value, undefined) : this.list(value, listed);
  }

  /** The members of a list, which may omit their kind if the list has it. */
  private list(value: Mapping, kind: ManifestKind | undefined): DecodedObject[] {
    this.checkVersion(value);
    const { items } = value;
    if (items === undefined || items === null) return [];
    const { expected } = this.accepted;
    if (!Array.isArray(items)) {
      const members = kind === 'Pod' || expected === 'Pod' ? 'pods' : 'objects';
      this.at('items', () => this.fail(`expected a list of ${members}, found ${describe(items)}`));
      return [];
    }
    return this.at('items', () =>
      items.flatMap((item: unknown, index) =>
        this.at(index, () => {
          if (isMapping(item)) return this.one(item, kind);
          this.fail(`expected a ${expected}, found ${describe(item)}`);
          return [];
        }),
      ),
    );
  }

  private one(value: Mapping, listed: ManifestKind | undefined): DecodedObject[] {
    if (listed === undefined || value.apiVersion !== undefined) this.checkVersion(value);
    const written = value.kind ?? listed;
    const wanted = listed === undefined ? this.accepted.kinds : [listed];
    const kind = wanted.find((candidate) => candidate === written);
    if (kind === undefined) {
      const found =
        value.kind === undefined
          ? 'is missing; add'
          : `is ${named(value.kind)}; ${this.accepted.refusal}, write`;
      this.at('kind', () => this.fail(`${found} ${wanted.map((name) => `"kind: ${name}"`).join(' or ')}`));
      return [];
    }
    const object = this.object(value, objectSchema(kind));
    // The compiler checks the schema tables against the interfaces, and the walk enforces them.
    return [
      { object: { ...object, apiVersion: 'v1', kind } as unknown as ManifestObject, path: [...this.path] },
    ];
  }

  private checkVersion(value: Mapping): void {
    if (value.apiVersion === 'v1') return;
    const found = value.apiVersion === undefined ? 'is missing; add' : `is ${named(value.apiVersion)}; write`;
    this.at('apiVersion', () => this.fail(`${found} "apiVersion: v1"`));
  }

  private object(value: Mapping, schema: ObjectSchema): Record<string, unknown> {
    const result: Record<string, unknown> = {};
    for (const key of Object.keys(value)) {
      const member = value[key];
      const memberSchema = schema.fields.get(key);
      if (memberSchema === undefined) this.warnUnknown(key, schema);
      else if (member !== null && member !== undefined) {
        this.path.push(key);
        const decoded = this.value(member, memberSchema);
        this.path.pop();
        if (decoded !== undefined) result[key] = decoded;
      }
    }
    for (const [field, member] of requiredFields(schema)) result[field] ??= zeroValue(member);
    return result;
  }

  private value(value: unknown, schema: ValueSchema): unknown {
    switch (schema.kind) {
      case 'scalar':
        return this.scalar(value, schema.scalar);
      case 'object':
        if (isMapping(value)) return this.object(value, schema.object);
        return this.fail(
          `expected a mapping (${schema.object.name}), found ${describe(value)}; ${mappingHint(value)}`,
        );
      case 'mapping':
        if (isMapping(value)) return this.mapping(value, schema.item);
        return this.fail(
          `expected a mapping of names to values, found ${describe(value)}; ${mappingHint(value)}`,
        );
      case 'list':
        if (Array.isArray(value)) return this.items(value, schema.item);
        return this.fail(`expected a list, found ${describe(value)}; begin each entry with "- "`);
    }
  }

  private items(values: readonly unknown[], schema: ValueSchema): unknown[] {
    return values.map((value, index) => {
      this.path.push(index);
      const decoded = value === null ? zeroValue(schema) : this.value(value, schema);
      this.path.pop();
      return decoded;
    });
  }

  private mapping(value: Mapping, schema: ValueSchema): Record<string, unknown> {
    const result: Record<string, unknown> = {};
    for (const key of Object.keys(value)) {
      this.path.push(key);
      const member = value[key];
      const decoded = member === null ? zeroValue(schema) : this.value(member, schema);
      this.path.pop();
      if (decoded !== undefined) setOwn(result, key, decoded);
    }
    return result;
  }

  private scalar(value: unknown, kind: ManifestScalarKind): unknown {
    switch (kind) {
      case 'any':
        return value;
      case 'string':
        return typeof value === 'string'
          ? value
          : this.fail(`expected a string, found ${describe(value)}; ${stringHint(value)}`);
      case 'bool':
        return typeof value === 'boolean'
          ? value
          : this.fail(`expected true or false, found ${describe(value)}; ${boolHint(value)}`);
      case 'int32':
        return this.integer(value, -(2 ** 31), 2 ** 31 - 1);
      case 'int64':
        return this.integer(value, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
      case 'intOrString':
        return typeof value === 'string' ? value : this.integer(value, -(2 ** 31), 2 ** 31 - 1);
      case 'quantity':
        return this.quantity(value);
      case 'time':
        if (typeof value === 'string' && parseTimestamp(value) !== undefined) return value;
        return this.fail(`expected a time, found ${describe(value)}; write it as 2006-01-02T15:04:05Z`);
    }
  }

  private integer(value: unknown, lowest: number, highest: number): number | undefined {
    if (typeof value !== 'number' || !Number.isInteger(value)) {
      return this.fail(`expected a whole number, found ${describe(value)}; ${integerHint(value)}`);
    }
    if (value >= lowest && value <= highest) return value;
    return this.fail(`the number ${value} is out of range; write one from ${lowest} to ${highest}`);
  }

  private quantity(value: unknown): string | undefined {
    if (typeof value !== 'string' && typeof value !== 'number') {
      return this.fail(`expected a quantity, found ${describe(value)}; write for example 250m or 512Mi`);
    }
    try {
      return formatQuantity(parseQuantity(typeof value === 'string' ? value.trim() : value));
    } catch (error) {
      if (error instanceof InvalidQuantity) return this.fail(error.message);
      throw error;
    }
  }

  /** Unknown fields beyond the first hundred are counted, not described. */
  countOtherUnknown(): void {
    const others = this.unknownFields - maxProblems;
    if (others <= 0) return;
    const message = `${others} more unknown fields, ignored: remove them`;
    this.warnings.push({ file: this.document.file, line: 0, column: 0, field: '', message });
  }

  private warnUnknown(key: string, schema: ObjectSchema): void {
    if (++this.unknownFields > maxProblems) return;
    const meant = nearestField(schema, key);
    const hint =
      meant === undefined ? `remove it; ${schema.name} has no such field` : `did you mean "${meant}"?`;
    this.warnings.push(problemAt(this.document, [...this.path, key], `unknown field, ignored: ${hint}`));
  }

  private at<T>(part: string | number, read: () => T): T {
    this.path.push(part);
    const result = read();
    this.path.pop();
    return result;
  }

  private fail(message: string): undefined {
    this.problems.push(problemAt(this.document, [...this.path], message));
    if (this.problems.length > maxProblems) throw new InvalidManifest(this.problems);
    return undefined;
  }
}

function isMapping(value: unknown): value is Mapping {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A kind or version as written; these are not secret. */
function named(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 60)) : describe(value);
}

/** The kind of a value; never the value itself, which may be secret. */
function describe(value: unknown): string {
  if (value === undefined || value === null) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a mapping';
  return `a ${typeof value}`;
}

function stringHint(value: unknown): string {
  return typeof value === 'object' ? 'write a single value here' : 'put it in quotes';
}

function boolHint(value: unknown): string {
  return value === 'true' || value === 'false' ? 'remove the quotes' : 'write true or false';
}

function integerHint(value: unknown): string {
  return typeof value === 'string' && /^-?\d+$/.test(value) ? 'remove the quotes' : 'write digits only';
}

function mappingHint(value: unknown): string {
  return Array.isArray(value)
    ? 'remove the "- " before it'
    : 'write its fields on the following lines, indented';
}
