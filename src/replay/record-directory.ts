/** The directory of a record on this machine: closed to other users, and written beside everything else. */
import { writeSync } from 'node:fs';
import { lstat, mkdir, open, readdir, unlink } from 'node:fs/promises';
import path from 'node:path';

/** A file that is being written. */
export interface RecordFile {
  append(bytes: Uint8Array): Promise<void>;
  /** The same for the last moment of a process, in which nothing can be waited for. */
  appendNow(bytes: Uint8Array): void;
  close(): Promise<void>;
}

export interface RecordDirectory {
  /** Makes the directory if it is not there. */
  list(): Promise<readonly { readonly name: string; readonly sizeBytes: number }[]>;
  /** Fails if there is a file of the name. */
  create(name: string): Promise<RecordFile>;
  remove(name: string): Promise<void>;
}

export function recordDirectory(dir: string): RecordDirectory {
  return {
    async list() {
      await mkdir(dir, { recursive: true, mode: 0o700 });
      const files: { name: string; sizeBytes: number }[] = [];
      for (const name of await readdir(dir)) {
        const stats = await lstat(path.join(dir, name));
        if (stats.isFile()) files.push({ name, sizeBytes: stats.size });
      }
      return files;
    },
    async create(name) {
      const file = await open(path.join(dir, name), 'wx', 0o600);
      return {
        async append(bytes) {
          for (let at = 0; at < bytes.length; ) at += (await file.write(bytes, at)).bytesWritten;
        },
        appendNow: (bytes) => void writeSync(file.fd, bytes),
        close: () => file.close(),
      };
    },
    remove: (name) => unlink(path.join(dir, name)),
  };
}
