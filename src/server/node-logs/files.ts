/** Serves the files below one folder: lists, whole files and parts of them, and nothing outside of it. */
import { createReadStream } from 'node:fs';
import { type FileHandle, open, readdir, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { errorText } from '../../async/index.js';
import { type Answer, plainError, redirect } from '../answers.js';
import type { ServerRequest } from '../routes.js';

const notFound = plainError(404, '404 page not found');
const mostEntries = 10_000;

/** `below` is relative to the folder, decoded. Links are followed as long as they lead to places below it. */
export async function serveFile(root: string, below: string, request: ServerRequest): Promise<Answer> {
  if (below.includes('\0')) return notFound;
  let place: string;
  try {
    const top = await realpath(root);
    place = await realpath(path.join(top, path.posix.join('/', below)));
    if (place !== top && !place.startsWith(top + path.sep)) return notFound;
    const facts = await stat(place);
    if (facts.isDirectory()) {
      if (below !== '' && !below.endsWith('/')) return redirect(`${path.posix.basename(request.path)}/`);
      return await listing(place);
    }
    if (!facts.isFile() || below.endsWith('/')) return notFound;
    return await content(place, facts.size, facts.mtime, request);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP') return notFound;
    if (code === 'EACCES' || code === 'EPERM') return plainError(403, '403 Forbidden');
    return plainError(500, `500 Internal Server Error: ${errorText(error)}`);
  }
}

async function listing(place: string): Promise<Answer> {
  const entries = await readdir(place, { withFileTypes: true });
  const links = entries
    .slice(0, mostEntries)
    .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
    .sort()
    .map((name) => `<a href="${encodeURIComponent(name).replaceAll('%2F', '/')}">${escapeHtml(name)}</a>\n`);
  return {
    status: 200,
    headers: { 'Content-Type': 'text/html; charset=utf-8' },
    body: `<!doctype html>\n<meta name="viewport" content="width=device-width">\n<pre>\n${links.join('')}</pre>\n`,
  };
}

function escapeHtml(name: string): string {
  return name
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&#34;');
}

async function content(
  place: string,
  sizeBytes: number,
  modified: Date,
  request: ServerRequest,
): Promise<Answer> {
  const common = { 'Last-Modified': modified.toUTCString(), 'Accept-Ranges': 'bytes' };
  const known = Date.parse(request.headers['if-modified-since'] ?? '');
  if (!Number.isNaN(known) && Math.floor(modified.getTime() / 1000) * 1000 <= known) {
    return { status: 304, headers: common, body: '' };
  }
  const range = requestedRange(request.headers.range, sizeBytes);
  if (range === 'unsatisfiable') {
    const answer = plainError(416, 'invalid range: failed to overlap');
    return { ...answer, headers: { ...answer.headers, 'Content-Range': `bytes */${sizeBytes}` } };
  }
  const { start, end } = range ?? { start: 0, end: sizeBytes - 1 };
  const file = await open(place, 'r');
  let type: string;
  try {
    type = await contentType(file, place);
  } catch (error) {
    await file.close();
    throw error;
  }
  let streaming = false;
  // A client that has left is sent nothing, and so nobody else would close the file.
  const onLeft = (): void => {
    if (!streaming) file.close().catch(() => {});
  };
  if (request.signal?.aborted) onLeft();
  else request.signal?.addEventListener('abort', onLeft, { once: true });
  return {
    status: range === undefined ? 200 : 206,
    headers: {
      ...common,
      'Content-Type': type,
      ...(range === undefined ? {} : { 'Content-Range': `bytes ${start}-${end}/${sizeBytes}` }),
    },
    body: {
      headAtOnce: true,
      failed: (error) => plainError(500, errorText(error)),
      stream: async (sink, signal) => {
        streaming = true;
        if (end < start) return file.close();
        // Closes the file when it ends, fails or is left.
        const stream = createReadStream('', { fd: file, start, end, signal });
        for await (const chunk of stream) await sink.write(chunk as Buffer);
      },
    },
  };
}

/** One range is served; of several, or of a kind that is not known, the whole file. */
export function requestedRange(
  header: string | undefined,
  sizeBytes: number,
): { readonly start: number; readonly end: number } | 'unsatisfiable' | undefined {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/.exec(header ?? '') ?? [];
  if (first === '' && last === '') return undefined;
  if (first === '') {
    const length = Math.min(Number(last), sizeBytes);
    return length === 0 ? 'unsatisfiable' : { start: sizeBytes - length, end: sizeBytes - 1 };
  }
  const start = Number(first);
  if (start >= sizeBytes) return 'unsatisfiable';
  const end = last === '' ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1);
  return end < start ? undefined : { start, end };
}

const types: ReadonlyMap<string, string> = new Map([
  ['.gz', 'application/gzip'],
  ['.json', 'application/json'],
  ['.log', 'text/plain; charset=utf-8'],
  ['.txt', 'text/plain; charset=utf-8'],
]);

async function contentType(file: FileHandle, place: string): Promise<string> {
  const known = types.get(path.extname(place));
  if (known !== undefined) return known;
  const { buffer, bytesRead } = await file.read(Buffer.alloc(512), 0, 512, 0);
  // Never as a page: logs hold what anybody wrote.
  return buffer.subarray(0, bytesRead).includes(0) ? 'application/octet-stream' : 'text/plain; charset=utf-8';
}
