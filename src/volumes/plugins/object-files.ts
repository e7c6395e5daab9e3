/** The files of a ConfigMap or Secret in a volume. */
import type { ConfigMap, KeyToPath, Secret } from '../../kube/index.js';
import type { PayloadFile } from '../atomic-writer.js';
import { type FileOwner, missingDefaultMode, ownedBy } from './volume-modes.js';

export interface ObjectFilesRequest {
  readonly items: readonly KeyToPath[] | undefined;
  readonly defaultMode: number | undefined;
  /** Whether missing keys are skipped. */
  readonly optional: boolean;
  readonly owner?: FileOwner;
}

type ObjectContents = ReadonlyMap<string, Uint8Array>;

/** `data`, then `binaryData`. */
export function configMapFiles(
  { data = {}, binaryData = {} }: Pick<ConfigMap, 'data' | 'binaryData'>,
  request: ObjectFilesRequest,
): Map<string, PayloadFile> {
  const contents = new Map<string, Uint8Array>();
  for (const [key, text] of Object.entries(data)) contents.set(key, Buffer.from(text, 'utf8'));
  for (const [key, text] of Object.entries(binaryData)) contents.set(key, Buffer.from(text, 'base64'));
  return objectFiles(contents, request, 'configmap references non-existent config key');
}

export function secretFiles(
  { data = {} }: Pick<Secret, 'data'>,
  request: ObjectFilesRequest,
): Map<string, PayloadFile> {
  const contents = new Map(
    Object.entries(data).map(([key, text]): [string, Uint8Array] => [key, Buffer.from(text, 'base64')]),
  );
  return objectFiles(contents, request, 'references non-existent secret key');
}

function objectFiles(
  contents: ObjectContents,
  { items, defaultMode, optional, owner }: ObjectFilesRequest,
  missing: string,
): Map<string, PayloadFile> {
  if (defaultMode === undefined) throw new Error(missingDefaultMode);
  const files = new Map<string, PayloadFile>();
  if (items === undefined || items.length === 0) {
    for (const [key, data] of contents)
      files.set(key, { data, mode: defaultMode, ...ownedBy(owner?.(undefined)) });
    return files;
  }
  for (const { key, path, mode = defaultMode, user } of items) {
    const data = contents.get(key);
    if (data !== undefined) files.set(path, { data, mode, ...ownedBy(owner?.(user)) });
    else if (!optional) throw new Error(`${missing}: ${key}`);
  }
  return files;
}
