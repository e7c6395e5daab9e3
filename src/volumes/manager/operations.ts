/** Which volume operations may run concurrently, and when a failed one may be retried. */

export const firstDelayMs = 500;
export const longestDelayMs = 122_000;

export type OperationName =
  | 'volume_mount'
  | 'volume_unmount'
  | 'unmount_device'
  | 'volume_fs_resize'
  /** The same for volumes of mode Block. */
  | 'map_volume'
  | 'unmap_volume'
  | 'unmap_device';

/** The subject of an operation; without a pod it is the volume in all pods. */
export interface OperationKey {
  readonly uniqueName: string;
  readonly podUid: string | undefined;
}

export interface OperationEntry extends OperationKey {
  readonly name: OperationName;
  readonly pending: boolean;
  /** Zero until it fails. */
  readonly delayMs: number;
  readonly failedAtMs: number;
}

/** Running operations and last failures, by `operationKeyText`. */
export type OperationBook = ReadonlyMap<string, OperationEntry>;

export function operationKeyText({ uniqueName, podUid }: OperationKey): string {
  return `${podUid ?? ''} ${uniqueName}`;
}

/** Mounts of a volume with a device run one at a time across pods; all other operations are per pod. */
export function operationKey(
  name: OperationName,
  { uniqueName, podUid, hasDevice }: { uniqueName: string; podUid: string; hasDevice: boolean },
): OperationKey {
  switch (name) {
    case 'volume_mount':
    case 'map_volume':
      return { uniqueName, podUid: hasDevice ? undefined : podUid };
    case 'volume_unmount':
    case 'unmap_volume':
      return { uniqueName, podUid };
    case 'unmount_device':
    case 'volume_fs_resize':
    case 'unmap_device':
      return { uniqueName, podUid: undefined };
  }
}

/** Whether a running operation conflicts with this one. */
export function isBusy(book: OperationBook, key: OperationKey): boolean {
  const { uniqueName, podUid } = key;
  if (podUid !== undefined) {
    const ofVolume = book.get(operationKeyText({ uniqueName, podUid: undefined }));
    return ofVolume?.pending === true || book.get(operationKeyText(key))?.pending === true;
  }
  for (const entry of book.values()) if (entry.pending && entry.uniqueName === uniqueName) return true;
  return false;
}

export type Permission =
  | { readonly kind: 'go' }
  /** A conflicting operation must end first. */
  | { readonly kind: 'busy' }
  | { readonly kind: 'back-off'; readonly untilMs: number };

export function permission(
  book: OperationBook,
  key: OperationKey,
  name: OperationName,
  nowMs: number,
): Permission {
  if (isBusy(book, key)) return { kind: 'busy' };
  const last = book.get(operationKeyText(key));
  if (last === undefined || last.name !== name || last.delayMs === 0) return { kind: 'go' };
  const untilMs = last.failedAtMs + last.delayMs;
  return nowMs < untilMs ? { kind: 'back-off', untilMs } : { kind: 'go' };
}

/** The entry of an operation that begins; it keeps the delay of its last failure. */
export function begun(
  last: OperationEntry | undefined,
  key: OperationKey,
  name: OperationName,
): OperationEntry {
  const isSame = last?.name === name;
  return {
    ...key,
    name,
    pending: true,
    delayMs: isSame ? last.delayMs : 0,
    failedAtMs: isSame ? last.failedAtMs : 0,
  };
}

/** The entry of a failed operation; a successful one has none. */
export function failed(entry: OperationEntry, nowMs: number): OperationEntry {
  const delayMs = entry.delayMs === 0 ? firstDelayMs : Math.min(entry.delayMs * 2, longestDelayMs);
  return { ...entry, pending: false, delayMs, failedAtMs: nowMs };
}
