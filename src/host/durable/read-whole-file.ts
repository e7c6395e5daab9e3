/** Reads a small file of the agent's own, which someone may have replaced with something else. */
import { isMissing } from '../errors.js';
import type { FileFacts, HostFiles } from '../host.js';

const largestBytes = 64 * 1024 * 1024;

/**
 * Undefined if nothing is there; throws if it is empty, too large or not a regular file. Anything but a
 * regular file is not opened: opening a pipe waits for its other end.
 */
export async function readWholeFile(files: HostFiles, path: string): Promise<string | undefined> {
  let facts: FileFacts;
  try {
    facts = await files.stat(path);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
  if (facts.kind !== 'file') throw new Error(`it is a ${facts.kind}`);
  if (facts.sizeBytes === 0) throw new Error('it is empty');
  if (facts.sizeBytes > largestBytes) throw new Error(`it has ${facts.sizeBytes} bytes`);
  return new TextDecoder().decode(await files.readFile(path));
}
