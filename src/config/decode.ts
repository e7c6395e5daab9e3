/** Decodes a KubeletConfiguration document into settings, and refuses what it cannot understand. */

import { dirname, isAbsolute, join } from 'node:path';
import { nearestName } from '../flags/index.js';
import {
  type FieldPath,
  firstProblems,
  formatFieldPath,
  maxProblems,
  parseSource,
  type SourceDocument,
  type SourcePosition,
} from '../kube/index.js';
import { ConfigurationError } from './config-error.js';
import { isRecord } from './config-path.js';
import { type ConfigField, configFields, fieldsByPath, optionalStructs } from './fields.js';
import { type ConfigPath, configApiVersion, configKind } from './types.js';
import { type DecodeSink, decodeValue, describeValue } from './values.js';

/** The settings of one document: only fields that are present and not null. */
export interface DocumentSettings {
  readonly values: Map<ConfigPath, unknown>;
  /** Optional structures that are present, even if empty. */
  readonly structs: Set<string>;
}

export interface DecodeOptions {
  /** Ignores unknown fields and duplicate keys with a warning, as the reference does. */
  readonly lenient: boolean;
}

export interface DecodedFile {
  readonly settings: DocumentSettings;
  readonly warnings: readonly string[];
}

interface UnknownField {
  readonly path: FieldPath;
  readonly nearest: string | undefined;
}

export const lenientDecodingWarning = 'Using lenient decoding as strict decoding failed';

/** Children of every structure in the file, by the structure's path ('' is the file itself). */
const structChildren: ReadonlyMap<string, ReadonlySet<string>> = (() => {
  const children = new Map<string, Set<string>>([['', new Set(['kind', 'apiVersion'])]]);
  for (const { path } of configFields) {
    const parts = path.split('.');
    for (let depth = 0; depth < parts.length; depth++) {
      const parent = parts.slice(0, depth).join('.');
      const names = children.get(parent) ?? new Set<string>();
      names.add(parts[depth] ?? '');
      children.set(parent, names);
    }
  }
  return children;
})();

/** Decodes the text of the file given with `--config`; throws a ConfigurationError that names every problem. */
export function decodeConfigFile(text: string, file: string, options: DecodeOptions): DecodedFile {
  if (text.length === 0) throw new ConfigurationError(`kubelet config file "${file}" was empty`);
  const documents = parseSource(text, file);
  const [document] = documents;
  checkHeader(document?.value);
  if (document === undefined) throw new ConfigurationError(`kubelet config file "${file}" was empty`);
  const { settings, unknownFields, problems } = decodeDocument(document.value, document);
  if (problems.length > 0) throw new ConfigurationError(listed(problems));

  const warnings: string[] = [];
  const strict: string[] = document.duplicateKeys.map(
    (key) => `${at(file, key)}key "${key.key}" is written more than once; the last one counts`,
  );
  if (documents.length > 1) {
    warnings.push(`${file} holds ${documents.length} documents; only the first one is read`);
  }
  const unknown = unknownFields.map((field) => describeUnknown(field, document));
  if (unknown.length > 0 && !options.lenient) throw unknownFieldsError(unknown);
  strict.push(...unknown.map((line) => `${line}; it is ignored`));
  if (strict.length > 0) warnings.push(`${lenientDecodingWarning}: ${strict.join('; ')}`);
  resolveRelativePaths(settings, dirname(file));
  return { settings, warnings };
}

/** The error for unknown fields. */
export function unknownFieldsError(lines: readonly string[]): ConfigurationError {
  return new ConfigurationError(
    `${listed(lines)}\nRemove or correct ${lines.length === 1 ? 'it' : 'them'}, or pass --lenient-config to ignore unknown fields with a warning`,
  );
}

/** Checks `kind` and `apiVersion`. */
export function checkHeader(value: unknown): void {
  if (value !== undefined && !isRecord(value)) {
    throw new ConfigurationError(`must be one object with apiVersion and kind, not ${describeValue(value)}`);
  }
  const { kind, apiVersion } = value ?? {};
  if (typeof kind !== 'string' || kind === '') throw new ConfigurationError("Object 'Kind' is missing");
  if (typeof apiVersion !== 'string' || apiVersion === '') {
    throw new ConfigurationError("Object 'apiVersion' is missing");
  }
  if (kind !== configKind || apiVersion !== configApiVersion) {
    throw new ConfigurationError(
      `no kind "${kind}" is registered for version "${apiVersion}"; write kind ${configKind} and apiVersion ${configApiVersion}`,
    );
  }
}

export interface DecodedDocument {
  readonly settings: DocumentSettings;
  readonly unknownFields: readonly UnknownField[];
  readonly problems: readonly string[];
}

/** Decodes a parsed document. Problems name line and column when the source is given. */
export function decodeDocument(value: unknown, source?: SourceDocument, nullUnsets = false): DecodedDocument {
  const settings: DocumentSettings = { values: new Map(), structs: new Set() };
  const unknownFields: UnknownField[] = [];
  const problems: string[] = [];
  const sink: DecodeSink = {
    problem: (path, text) => {
      if (problems.length > maxProblems) return;
      problems.push(`${locate(path, source)}${formatFieldPath(path)} ${text}`);
    },
    unknownField: (path, siblings) => {
      if (unknownFields.length > maxProblems) return;
      unknownFields.push({ path, nearest: nearestName(String(path.at(-1)), siblings) });
    },
  };
  decodeStruct(value, '', settings, sink, nullUnsets);
  return { settings, unknownFields, problems };
}

function decodeStruct(
  value: unknown,
  prefix: string,
  settings: DocumentSettings,
  sink: DecodeSink,
  nullUnsets: boolean,
): void {
  const structPath: FieldPath = prefix === '' ? [] : prefix.split('.');
  if (value === null || value === undefined) return;
  if (!isRecord(value)) {
    sink.problem(structPath, `must be an object, not ${describeValue(value)}`);
    return;
  }
  if (isOptionalStruct(prefix)) settings.structs.add(prefix);
  const children = structChildren.get(prefix) ?? new Set<string>();
  for (const [key, item] of Object.entries(value)) {
    const path = prefix === '' ? key : `${prefix}.${key}`;
    const field = fieldsByPath.get(path);
    if (field !== undefined) decodeField(field, item, settings, sink, nullUnsets);
    else if (structChildren.has(path)) decodeStruct(item, path, settings, sink, nullUnsets);
    else if (!children.has(key)) sink.unknownField([...structPath, key], [...children]);
  }
}

function decodeField(
  field: ConfigField,
  value: unknown,
  settings: DocumentSettings,
  sink: DecodeSink,
  nullUnsets: boolean,
): void {
  const path = field.path.split('.');
  if (value === null) {
    // The reference reads null as an empty string here, which is not a valid duration.
    if (field.kind === 'duration' && field.pointer !== true && !nullUnsets) {
      sink.problem(path, 'must be a duration string such as 10s or 1m30s, not null');
    }
    return;
  }
  const decoded = decodeValue(field.kind, value, path, field.secret === true ? withoutValues(sink) : sink);
  if (decoded !== undefined) settings.values.set(field.path, decoded);
}

/** Problems of a secret field do not repeat its value. */
function withoutValues(sink: DecodeSink): DecodeSink {
  return { ...sink, problem: (path) => sink.problem(path, 'must map names to lists of strings') };
}

function isOptionalStruct(path: string): boolean {
  return optionalStructs.some((struct) => struct === path);
}

/** Resolves relative paths against the directory of the configuration file. */
function resolveRelativePaths(settings: DocumentSettings, directory: string): void {
  for (const field of configFields) {
    if (field.relativeToFile !== true) continue;
    const value = settings.values.get(field.path);
    if (typeof value === 'string' && value !== '' && !isAbsolute(value)) {
      settings.values.set(field.path, join(directory, value).replace(/(.)\/+$/, '$1'));
    }
  }
}

/** One line about an unknown field: its position, and the nearest known name. */
export function describeUnknown(field: UnknownField, source: SourceDocument): string {
  const hint = field.nearest === undefined ? '' : ` (did you mean "${field.nearest}"?)`;
  return `${locate(field.path, source)}unknown field "${formatFieldPath(field.path)}"${hint}`;
}

function locate(path: FieldPath, source: SourceDocument | undefined): string {
  const position = source?.locate(path);
  return source === undefined || position === undefined ? '' : at(source.file, position);
}

function at(file: string, position: SourcePosition): string {
  return `${file}:${position.line}:${position.column}: `;
}

/** Puts one problem on the same line, and several on a line each. */
function listed(all: readonly string[]): string {
  const lines = firstProblems(all, () => 'there are more problems; correct those above first');
  return lines.length === 1 ? (lines[0] ?? '') : lines.map((line) => `\n  ${line}`).join('');
}
