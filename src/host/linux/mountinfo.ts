/** Parses the kernel's mount table, `/proc/self/mountinfo`. */
import type { MountPoint } from '../host.js';

export interface ListedMount extends MountPoint {
  readonly id: number;
}

/**
 * The mounts in the kernel's order; of several at one target, the last is on top. With `below`, at least
 * those at and below that path.
 */
export function parseMountinfo(text: string, below?: string): readonly ListedMount[] {
  const mounts: ListedMount[] = [];
  // A line without the path is not about it; checking that is far cheaper than parsing.
  const wanted = below === undefined || below === '/' ? '' : ` ${escapeOctal(below)}`;
  for (let start = 0; start < text.length; ) {
    const found = wanted === '' ? start : text.indexOf(wanted, start);
    if (found < 0) break;
    const lineStart = found === start ? start : text.lastIndexOf('\n', found) + 1;
    const newline = text.indexOf('\n', found);
    const lineEnd = newline < 0 ? text.length : newline;
    const mount = parseLine(text.slice(lineStart, lineEnd));
    if (mount !== undefined) mounts.push(mount);
    start = lineEnd + 1;
  }
  return mounts;
}

/**
 * Whether one reading has every mount that existed throughout. Kernels before 5.8 lose the reader's place
 * when a mount goes away between two parts of a long table.
 */
export function readsWhole(kernelRelease: string): boolean {
  const [major = 0, minor = 0] = kernelRelease.split('.', 2).map((part) => Number.parseInt(part, 10));
  return major > 5 || (major === 5 && minor >= 8);
}

/** `36 35 98:0 /root /target rw,noatime shared:1 - ext3 /dev/sda1 rw,errors=continue` */
function parseLine(line: string): ListedMount | undefined {
  const fields = line.split(' ');
  const separator = fields.indexOf('-', 6);
  const [id, , device, root, target, options] = fields;
  const [fsType, source, superOptions = ''] = separator === -1 ? [] : fields.slice(separator + 1);
  if (device === undefined || root === undefined || target === undefined || options === undefined)
    return undefined;
  if (fsType === undefined || source === undefined) return undefined;
  return {
    id: Number(id),
    device,
    root: unescapeOctal(root),
    target: unescapeOctal(target),
    options: options.split(','),
    fsType: unescapeOctal(fsType),
    source: unescapeOctal(source),
    superOptions: superOptions === '' ? [] : superOptions.split(','),
    propagation: propagationOf(fields.slice(6, separator)),
  };
}

function propagationOf(tags: readonly string[]): MountPoint['propagation'] {
  if (tags.some((tag) => tag.startsWith('shared:'))) return 'shared';
  if (tags.some((tag) => tag.startsWith('master:'))) return 'slave';
  return tags.includes('unbindable') ? 'unbindable' : 'private';
}

/** The path as the kernel writes it. */
function escapeOctal(path: string): string {
  return path.replace(/[ \t\n\\]/g, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, '0')}`);
}

/** Spaces, tabs, newlines and backslashes are written as three octal digits each. */
export function unescapeOctal(text: string): string {
  return text.replace(/(?:\\[0-3][0-7]{2})+/g, (run) =>
    Buffer.from(
      run
        .slice(1)
        .split('\\')
        .map((octal) => Number.parseInt(octal, 8)),
    ).toString('utf8'),
  );
}
