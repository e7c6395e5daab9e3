/** JSON patch (RFC 6902): a list of operations, applied all or none. */
import { clone } from '../../kube/values/deep-equal.js';
import type { JsonPatchOperation } from '../port.js';
import { isDeeper, isMapping, jsonEqual, PatchRefused } from './json.js';

/** Each copy of a whole document doubles it. */
const mostCopiedBytes = 3 * 1024 * 1024;
/** As of all untrusted text. Copies of a value into itself would double its depth each time. */
const deepest = 100;

export function applyJsonPatch(original: unknown, operations: readonly JsonPatchOperation[]): unknown {
  let document = clone(original);
  let copiedBytes = 0;
  for (const operation of operations) {
    if (operation.op === 'copy') {
      const copied = find(document, pointer(operation.from));
      if (isDeeper(copied, deepest)) throw tooDeep();
      copiedBytes += JSON.stringify(copied)?.length ?? 0;
      if (copiedBytes > mostCopiedBytes)
        throw new PatchRefused(`the patch copies more than ${mostCopiedBytes} bytes`);
    }
    document = applyOne(document, operation);
  }
  if (isDeeper(document, deepest)) throw tooDeep();
  return document;
}

function tooDeep(): PatchRefused {
  return new PatchRefused(`the patch nests lists and mappings more than ${deepest} levels deep`);
}

function applyOne(document: unknown, operation: JsonPatchOperation): unknown {
  const path = pointer(operation.path);
  switch (operation.op) {
    case 'add':
      return insert(document, path, clone(operation.value));
    case 'remove':
      return remove(document, path);
    case 'replace':
      return insert(remove(document, path), path, clone(operation.value));
    case 'test':
      if (jsonEqual(find(document, path), operation.value)) return document;
      throw new PatchRefused(`testing path ${operation.path} failed`);
    case 'copy':
      return insert(document, path, clone(find(document, pointer(operation.from))));
    case 'move': {
      const from = pointer(operation.from);
      const moved = find(document, from);
      return insert(remove(document, from), path, moved);
    }
  }
}

function pointer(text: string): string[] {
  if (text === '') return [];
  if (!text.startsWith('/'))
    throw new PatchRefused(`the path ${JSON.stringify(text)} does not begin with a slash`);
  return text
    .slice(1)
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function missing(path: readonly string[]): never {
  throw new PatchRefused(`the path /${path.join('/')} does not exist`);
}

function find(document: unknown, path: readonly string[]): unknown {
  let value = document;
  for (const part of path) {
    if (Array.isArray(value)) value = value[indexIn(part, value.length - 1, path)];
    else if (isMapping(value) && Object.hasOwn(value, part)) value = value[part];
    else missing(path);
  }
  return value;
}

function insert(document: unknown, path: readonly string[], value: unknown): unknown {
  const last = path.at(-1);
  if (last === undefined) return value;
  const holder = find(document, path.slice(0, -1));
  if (Array.isArray(holder)) {
    holder.splice(last === '-' ? holder.length : indexIn(last, holder.length, path), 0, value);
  } else if (isMapping(holder)) {
    Object.defineProperty(holder, last, { value, enumerable: true, configurable: true, writable: true });
  } else missing(path);
  return document;
}

function remove(document: unknown, path: readonly string[]): unknown {
  const last = path.at(-1);
  if (last === undefined) return undefined;
  const holder = find(document, path.slice(0, -1));
  if (Array.isArray(holder)) holder.splice(indexIn(last, holder.length - 1, path), 1);
  else if (isMapping(holder) && Object.hasOwn(holder, last)) Reflect.deleteProperty(holder, last);
  else missing(path);
  return document;
}

function indexIn(part: string, highest: number, path: readonly string[]): number {
  const index = /^(0|[1-9]\d*)$/.test(part) ? Number(part) : -1;
  return index >= 0 && index <= highest ? index : missing(path);
}
