/** Merges the `*.conf` files of `--config-dir` over a configuration, in lexical order. */
import { join } from 'node:path';
import { parseSource, type SourceDocument } from '../kube/index.js';
import { ConfigurationError, messageOf } from './config-error.js';
import { isRecord } from './config-path.js';
import { type DocumentSettings, decodeDocument, describeUnknown, unknownFieldsError } from './decode.js';
import { configApiVersion, configKind } from './types.js';

export interface DropInEntry {
  readonly name: string;
  readonly isDirectory: boolean;
}

/** The files that configuration is read from. */
export interface ConfigFiles {
  readFile(path: string): Promise<string>;
  listDir(path: string): Promise<readonly DropInEntry[]>;
}

export interface MergedDropIns {
  readonly settings: DocumentSettings;
  /** Paths of the fields that at least one drop-in sets. */
  readonly written: ReadonlySet<string>;
  readonly warnings: readonly string[];
}

/** Merges every drop-in below `directory` over the serialized `base`. */
export async function mergeDropIns(
  base: Record<string, unknown>,
  directory: string,
  files: ConfigFiles,
  options: { readonly lenient: boolean },
): Promise<MergedDropIns> {
  try {
    let merged: unknown = base;
    const written = new Set<string>();
    const warnings: string[] = [];
    for (const file of await listDropIns(directory, files)) {
      const document = await readDropIn(file, files);
      const { settings, unknownFields, problems } = decodeDocument(document.value, document, true);
      const [problem] = problems;
      if (problem !== undefined) throw new ConfigurationError(inFile(file, `error: ${problem}`));
      const unknown = unknownFields.map((field) => describeUnknown(field, document));
      if (unknown.length > 0 && !options.lenient) {
        throw new ConfigurationError(inFile(file, `error: ${unknownFieldsError(unknown).message}`));
      }
      warnings.push(...unknown.map((line) => `${line}; it is ignored`));
      for (const path of settings.values.keys()) written.add(path);
      merged = mergePatch(merged, document.value);
    }
    const { settings, problems } = decodeDocument(merged, undefined, true);
    if (problems.length > 0) throw new ConfigurationError(problems.join('; '));
    return { settings, written, warnings };
  } catch (thrown) {
    throw new ConfigurationError(
      `failed to merge kubelet configs: failed to walk through kubelet dropin directory "${directory}": ${messageOf(thrown)}`,
      { cause: thrown },
    );
  }
}

/** Walks depth first, each directory in lexical order. Does not follow links to directories, so the walk ends. */
async function listDropIns(directory: string, files: ConfigFiles): Promise<string[]> {
  const entries = [...(await files.listDir(directory))].sort((a, b) =>
    a.name < b.name ? -1 : a.name > b.name ? 1 : 0,
  );
  const found: string[] = [];
  for (const entry of entries) {
    const path = join(directory, entry.name);
    if (entry.isDirectory) found.push(...(await listDropIns(path, files)));
    else if (entry.name.endsWith('.conf')) found.push(path);
  }
  return found;
}

async function readDropIn(file: string, files: ConfigFiles): Promise<SourceDocument> {
  let document: SourceDocument | undefined;
  try {
    const text = await files.readFile(file);
    if (text.length === 0) throw new ConfigurationError(`kubelet config file "${file}" was empty`);
    [document] = parseSource(text, file);
  } catch (thrown) {
    throw new ConfigurationError(inFile(file, `error: ${messageOf(thrown)}`), { cause: thrown });
  }
  const value = document?.value;
  if (document === undefined || !isRecord(value) || typeof value.kind !== 'string' || value.kind === '') {
    throw new ConfigurationError(inFile(file, "error: Object 'Kind' is missing"));
  }
  const [duplicate] = document.duplicateKeys;
  if (duplicate !== undefined) {
    throw new ConfigurationError(
      inFile(
        file,
        `error: ${file}:${duplicate.line}:${duplicate.column}: key "${duplicate.key}" is written more than once`,
      ),
    );
  }
  if (typeof value.apiVersion !== 'string' || value.apiVersion === '') {
    throw new ConfigurationError(inFile(file, 'no apiVersion/kind'));
  }
  if (value.apiVersion !== configApiVersion || value.kind !== configKind) {
    throw new ConfigurationError(
      inFile(file, `unknown apiVersion/kind: ${value.apiVersion}, Kind=${value.kind}`),
    );
  }
  return document;
}

function inFile(file: string, text: string): string {
  return `failed to load kubelet dropin file, path: ${file}, ${text}`;
}

/** RFC 7386: objects merge key by key, null deletes a key, everything else replaces it. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const merged = new Map(isRecord(target) ? Object.entries(target) : []);
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key);
    else merged.set(key, mergePatch(merged.get(key), value));
  }
  return Object.fromEntries(merged);
}
