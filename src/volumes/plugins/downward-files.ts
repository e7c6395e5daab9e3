/** The files that expose a pod's own fields. */
import { aggregateText, errorText } from '../../async/index.js';
import {
  type DownwardAPIVolumeFile,
  goQuote,
  metadataFieldValue,
  type Pod,
  type ResourceFieldSelector,
  type ResourceList,
  resourceFieldText,
  splitSubscript,
  subscriptedMetadata,
} from '../../kube/index.js';
import type { PayloadFile } from '../atomic-writer.js';
import { type FileOwner, missingDefaultMode, ownedBy } from './volume-modes.js';

export interface DownwardFilesRequest {
  readonly pod: Pod;
  readonly items: readonly DownwardAPIVolumeFile[] | undefined;
  readonly defaultMode: number | undefined;
  readonly nodeAllocatable: ResourceList;
  readonly owner?: FileOwner;
}

/** Throws with the errors of all items. */
export function downwardFiles(request: DownwardFilesRequest): Map<string, PayloadFile> {
  const { items = [], defaultMode, owner } = request;
  if (defaultMode === undefined) throw new Error(missingDefaultMode);
  const files = new Map<string, PayloadFile>();
  const errors: string[] = [];
  for (const item of items) {
    try {
      const mode = item.mode ?? defaultMode;
      files.set(item.path, { data: itemText(item, request), mode, ...ownedBy(owner?.(item.user)) });
    } catch (error) {
      errors.push(errorText(error));
    }
  }
  if (errors.length > 0) throw new Error(aggregateText(errors));
  return files;
}

function itemText(item: DownwardAPIVolumeFile, { pod, nodeAllocatable }: DownwardFilesRequest): string {
  if (item.fieldRef !== undefined) return fieldText(pod, item.fieldRef.fieldPath);
  if (item.resourceFieldRef !== undefined) return resourceText(pod, item.resourceFieldRef, nodeAllocatable);
  throw new Error(`item ${goQuote(item.path)} names neither fieldRef nor resourceFieldRef; add one of them`);
}

function fieldText(pod: Pod, fieldPath: string): string {
  const subscript = splitSubscript(fieldPath);
  if (subscript !== undefined) {
    const value = subscriptedMetadata(pod, fieldPath, subscript);
    if (value === undefined) throw new Error(`fieldPath ${goQuote(fieldPath)} does not support subscript`);
    return value;
  }
  const value = metadataFieldValue(pod, fieldPath);
  if (value === undefined) throw new Error(`unsupported fieldPath: ${fieldPath}`);
  return value;
}

function resourceText(pod: Pod, selector: ResourceFieldSelector, nodeAllocatable: ResourceList): string {
  const { containerName = '' } = selector;
  const { containers, initContainers = [] } = pod.spec;
  const container = [...containers, ...initContainers].find(({ name }) => name === containerName);
  if (container === undefined) throw new Error(`container ${containerName} not found`);
  return resourceFieldText(selector, container.resources, nodeAllocatable);
}
