/** The values of a Secret for those that take texts, and no bytes: CSI drivers, and the tools of disks. */
import type { Secret } from '../kube/index.js';

export function secretTexts({ data = {} }: Pick<Secret, 'data'>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8')]),
  );
}
