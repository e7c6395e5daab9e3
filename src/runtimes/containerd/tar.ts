/** Writes tar archives whose bytes depend only on their content, so that image digests are stable. */

interface Ownership {
  readonly uid?: number;
  readonly gid?: number;
}

/** Paths are relative to the archive's root; a leading slash is dropped. */
export type TarEntry =
  | (Ownership & {
      readonly type: 'file';
      readonly path: string;
      readonly content: string | Buffer;
      /** Default 0644. */
      readonly mode?: number;
    })
  | (Ownership & {
      readonly type: 'directory';
      readonly path: string;
      /** Default 0755. */
      readonly mode?: number;
    })
  | (Ownership & { readonly type: 'symlink'; readonly path: string; readonly target: string });

const blockBytes = 512;
const nameBytes = 100;
const prefixBytes = 155;
/** The largest value of the size field's eleven octal digits. */
const maxFileBytes = 8 ** 11 - 1;

export function writeTar(entries: readonly TarEntry[]): Buffer {
  const end = Buffer.alloc(2 * blockBytes);
  return Buffer.concat([...entries.flatMap(encodeEntry), end]);
}

function encodeEntry(entry: TarEntry): Buffer[] {
  const bare = entry.path.replace(/^\/+/, '');
  const { uid = 0, gid = 0 } = entry;
  switch (entry.type) {
    case 'file': {
      const content = Buffer.from(entry.content);
      return encodeParts({
        typeflag: '0',
        path: bare,
        target: '',
        mode: entry.mode ?? 0o644,
        uid,
        gid,
        content,
      });
    }
    case 'directory': {
      const path = bare.endsWith('/') ? bare : `${bare}/`;
      const content = Buffer.alloc(0);
      return encodeParts({ typeflag: '5', path, target: '', mode: entry.mode ?? 0o755, uid, gid, content });
    }
    case 'symlink': {
      const content = Buffer.alloc(0);
      return encodeParts({ typeflag: '2', path: bare, target: entry.target, mode: 0o777, uid, gid, content });
    }
  }
}

interface RawEntry {
  readonly typeflag: '0' | '2' | '5' | 'x';
  readonly path: string;
  readonly target: string;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly content: Buffer;
}

/** The entry, preceded by a record with its long names if the plain header has no room for them. */
function encodeParts(entry: RawEntry): Buffer[] {
  const split = splitPath(entry.path);
  const records: string[] = [];
  if (split === undefined) {
    records.push(paxRecord('path', entry.path));
  }
  if (Buffer.byteLength(entry.target) > nameBytes) {
    records.push(paxRecord('linkpath', entry.target));
  }
  const extended: Buffer[] = [];
  if (records.length > 0) {
    const content = Buffer.from(records.join(''));
    const about = { name: 'PaxHeader', prefix: '' };
    const raw: RawEntry = { ...entry, typeflag: 'x', target: '', mode: 0o644, content };
    extended.push(header(raw, about), padded(content));
  }
  const short = split ?? { name: truncate(entry.path), prefix: '' };
  return [...extended, header({ ...entry, target: truncate(entry.target) }, short), padded(entry.content)];
}

/** Splits a path of up to 255 bytes at a slash into the two fields of ustar; `undefined` if impossible. */
function splitPath(path: string): { name: string; prefix: string } | undefined {
  if (Buffer.byteLength(path) !== path.length) {
    return undefined;
  }
  if (path.length <= nameBytes) {
    return { name: path, prefix: '' };
  }
  const slash = path.indexOf('/', path.length - nameBytes - 1);
  const name = path.slice(slash + 1);
  if (slash === -1 || slash > prefixBytes || name === '') {
    return undefined;
  }
  return { name, prefix: path.slice(0, slash) };
}

/** `length key=value\n`, where the length includes itself. */
function paxRecord(key: string, value: string): string {
  const restBytes = Buffer.byteLength(` ${key}=${value}\n`);
  let length = restBytes + String(restBytes).length;
  length = restBytes + String(length).length;
  return `${length} ${key}=${value}\n`;
}

function truncate(text: string): string {
  return Buffer.from(text).subarray(0, nameBytes).toString('latin1');
}

function header(entry: RawEntry, { name, prefix }: { name: string; prefix: string }): Buffer {
  if (entry.content.length > maxFileBytes) {
    throw new Error(`${entry.path} is too large for this archive`);
  }
  const block = Buffer.alloc(blockBytes);
  const octal = (value: number, digits: number) => value.toString(8).padStart(digits, '0');
  block.write(name, 0, 'latin1');
  block.write(octal(entry.mode, 7), 100);
  block.write(octal(entry.uid, 7), 108);
  block.write(octal(entry.gid, 7), 116);
  block.write(octal(entry.content.length, 11), 124);
  block.write(octal(0, 11), 136); // Every file dates from 1970: a time would change the digest.
  block.write(' '.repeat(8), 148);
  block.write(entry.typeflag, 156);
  block.write(entry.target, 157, 'latin1');
  block.write('ustar\0' + '00', 257, 'latin1');
  block.write(prefix, 345, 'latin1');
  const checksum = block.reduce((sum, byte) => sum + byte, 0);
  block.write(`${octal(checksum, 6)}\0 `, 148);
  return block;
}

function padded(content: Buffer): Buffer {
  const missing = (blockBytes - (content.length % blockBytes)) % blockBytes;
  return missing === 0 ? content : Buffer.concat([content, Buffer.alloc(missing)]);
}
