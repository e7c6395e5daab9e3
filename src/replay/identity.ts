/** By what a call is known: a small text of its arguments that names the thing and holds nothing of its content. */
import { recordLimits } from './limits.js';

/** Fields of requests that name things. The others may be large, or a secret. */
const naming: ReadonlySet<string> = new Set([
  'attempt',
  'cgroupPath',
  'container',
  'containerId',
  'containerName',
  'driverName',
  'fieldSelector',
  'filter',
  'fsType',
  'host',
  'id',
  'image',
  'kind',
  'labelSelector',
  'lazy',
  'metadata',
  'name',
  'namespace',
  'path',
  'plural',
  'podName',
  'podSandboxId',
  'podUid',
  'port',
  'recursive',
  'resourceVersion',
  'sandboxId',
  'source',
  'stagingTargetPath',
  'state',
  'subresource',
  'target',
  'targetPath',
  'timeoutSeconds',
  'uid',
  'userSpecifiedImage',
  'verbose',
  'volumeId',
  'volumeName',
]);

/** Requests inside which the thing is named. */
const holding: ReadonlySet<string> = new Set(['config', 'pod', 'sandboxConfig']);

const deepest = 4;

/** Names of files that are drawn by chance: directories of a volume's files, and what is being removed or made. */
const drawnNames = /(\.\.\d{4}(?:_\d\d){5}\.|\.\.removing-|\/\.device-)[\da-f-]+/g;

/** Texts are taken from the first two arguments only where the port is one of paths; what is written is never taken. */
export function identityOf(method: string, args: readonly unknown[]): string {
  const parts: string[] = [];
  const isWrite = method.endsWith('writeFile') || method.endsWith('.write') || method === 'write';
  for (const [index, arg] of args.entries()) {
    if (isWrite && index > 0) break;
    const text = textOf(arg, 0);
    if (text !== '') parts.push(text);
  }
  const whole = parts.join(' ');
  return whole.length <= recordLimits.identityChars ? whole : whole.slice(0, recordLimits.identityChars);
}

function textOf(value: unknown, depth: number): string {
  switch (typeof value) {
    case 'string':
      return value.includes('..') || value.includes('/.device-') ? value.replace(drawnNames, '$1…') : value;
    case 'number':
    case 'boolean':
    case 'bigint':
      return String(value);
    case 'object':
      return value === null || depth >= deepest ? '' : objectText(value, depth);
    default:
      return '';
  }
}

function objectText(value: object, depth: number): string {
  if (Array.isArray(value) || value instanceof Uint8Array || value instanceof AbortSignal) return '';
  const parts: string[] = [];
  for (const [name, each] of Object.entries(value)) {
    if (holding.has(name)) {
      const text = textOf(each, depth + 1);
      if (text !== '') parts.push(text);
    } else if (naming.has(name) && each !== undefined) {
      const text = textOf(each, depth + 1);
      if (text !== '') parts.push(`${name}=${text}`);
    }
  }
  return parts.join(' ');
}
