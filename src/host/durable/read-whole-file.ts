/** Reads a small file of the agent's own that somebody may have replaced by something else. */
import { isMissing } from '../errors.js';
import type { FileFacts, HostFiles } from '../host.js';

const largestBytes = 64 * 1024 * 1024;

/**
 * Undefined when nothing is there; throws what is wrong with it when it is empty, too large or no file. What is no file
 * is not opened: to open a pipe waits for its other end.
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
