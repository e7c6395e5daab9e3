/** The files of the page, read when a browser asks for them: from `dist/ui`, or from inside a single executable. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** From a chunk of the bundle, from the bundle itself, and from the source. */
const candidates = ['./ui', '../ui', '../../dist/ui'];

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

export interface PageFile {
  readonly type: string;
  readonly bytes: Uint8Array;
}

/** Reads one file by its name, which has no directory in it; undefined when there is none. */
export type ReadPageFile = (name: string) => Promise<PageFile | undefined>;

/** Throws when the page was not built. */
export async function pageFiles(): Promise<ReadPageFile> {
  const read = (await embedded()) ?? onDisk();
  return async (name) => {
    const type = /^[a-zA-Z0-9_-]+\.[a-z]+$/.test(name) ? types[path.extname(name)] : undefined;
    if (type === undefined) return undefined;
    const bytes = await read(name);
    return bytes === undefined ? undefined : { type, bytes };
  };
}

type ReadBytes = (name: string) => Promise<Uint8Array | undefined>;

function onDisk(): ReadBytes {
  const dirs = candidates.map((candidate) => fileURLToPath(new URL(candidate, import.meta.url)));
  const dir = dirs.find((one) => existsSync(path.join(one, 'index.html')));
  if (dir === undefined) throw new Error(`the page is not at ${dirs.join(' nor ')}: build nodelet`);
  return (name) => readFile(path.join(dir, name)).catch(ifMissing);
}

async function embedded(): Promise<ReadBytes | undefined> {
  // Node 20 may not have the module; whoever runs there has no single executable.
  const sea = await import('node:sea').catch(() => undefined);
  if (sea?.isSea() !== true) return undefined;
  return async (name) => {
    try {
      return new Uint8Array(sea.getAsset(`ui/${name}`));
    } catch (error) {
      if (
        error instanceof Error &&
        'code' in error &&
        error.code === 'ERR_SINGLE_EXECUTABLE_APPLICATION_ASSET_NOT_FOUND'
      )
        return undefined;
      throw error;
    }
  };
}

function ifMissing(error: unknown): undefined {
  if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
}
