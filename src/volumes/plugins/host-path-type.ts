/** What a hostPath volume expects at its path, and what to do if it is not there. */
import type { FileKind } from '../../host/index.js';
import { goQuote } from '../../kube/index.js';

export type HostPathVerdict =
  | { readonly kind: 'fine' }
  | { readonly kind: 'create-directory' }
  | { readonly kind: 'create-file' }
  | { readonly kind: 'refused'; readonly message: string };

interface WantedKind {
  readonly kind: FileKind;
  readonly described: string;
  readonly create?: 'create-directory' | 'create-file';
}

const wantedKinds: ReadonlyMap<string, WantedKind> = new Map<string, WantedKind>([
  ['DirectoryOrCreate', { kind: 'directory', described: 'a directory', create: 'create-directory' }],
  ['Directory', { kind: 'directory', described: 'a directory' }],
  ['FileOrCreate', { kind: 'file', described: 'a file', create: 'create-file' }],
  ['File', { kind: 'file', described: 'a file' }],
  ['Socket', { kind: 'socket', described: 'a socket file' }],
  ['CharDevice', { kind: 'character-device', described: 'a character device' }],
  ['BlockDevice', { kind: 'block-device', described: 'a block device' }],
]);

/** The names of the API for what can be found; a kind without one cannot be asked for. */
const foundKinds: ReadonlyMap<FileKind, string> = new Map<FileKind, string>([
  ['directory', 'Directory'],
  ['file', 'File'],
  ['socket', 'Socket'],
  ['character-device', 'CharDevice'],
  ['block-device', 'BlockDevice'],
]);

/** What is wrong with the path itself. */
export function hostPathProblem(path: string): string | undefined {
  if (!path.split('/').includes('..')) return undefined;
  return `invalid HostPath \`${path}\`: must not contain '..'`;
}

/** `found` is the kind after following links, undefined if nothing is there. An empty type accepts anything. */
export function hostPathVerdict(path: string, type: string, found: FileKind | undefined): HostPathVerdict {
  if (type === '') return { kind: 'fine' };
  const wanted = wantedKinds.get(type);
  if (wanted === undefined) return { kind: 'refused', message: `${type} is an invalid volume type` };
  if (found === undefined && wanted.create !== undefined) return { kind: wanted.create };
  if (found === wanted.kind) return { kind: 'fine' };
  const isNot = `${path} is not ${wanted.described}`;
  const shown = found === undefined ? undefined : foundKinds.get(found);
  if (shown !== undefined)
    return { kind: 'refused', message: `hostPath type check failed: ${isNot}, it's a ${shown}` };
  const why =
    found === undefined
      ? `path ${goQuote(path)} does not exist`
      : 'only recognise file, directory, socket, block device and character device';
  const message = `hostPath type check failed, ${isNot}, unable to determine its type: ${why}`;
  return { kind: 'refused', message };
}
