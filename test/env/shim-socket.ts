/** Where the shim of a container listens, as its bundle tells. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ifThere } from './vanishing.js';

/** containerd 1 writes the address alone, containerd 2 all that it needs to find the shim again; `undefined` without either. */
export function shimSocketOf(bundle: string): string | undefined {
  const alone = ifThere(() => readFileSync(join(bundle, 'address'), 'utf8'));
  const inAll = ifThere(() => readFileSync(join(bundle, 'bootstrap.json'), 'utf8'));
  const address: unknown = alone ?? (inAll === undefined ? undefined : JSON.parse(inAll).address);
  return typeof address === 'string' ? address.replace(/^unix:\/\//, '') : undefined;
}
