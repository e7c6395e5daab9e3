/** Serves the files below one directory: listings, whole files and ranges, and nothing outside of it. */
import path from 'node:path';
import { errorText, throwIfCancelled } from '../../async/index.js';
import { type HeldPath, type Host, holdBelow, isHostError, type OpenedFile } from '../../host/index.js';
import { type BodySink, isStreamed, plainError, type RouteResponse, redirect } from '../responses.js';
import type { ServerRequest } from '../routes.js';

const notFound = plainError(404, '404 page not found');
const mostEntries = 10_000;

/** The host through which the node's logs are read. */
export type NodeLogFiles = Pick<Host, 'hold' | 'files'>;

/** `below` is relative to the directory, decoded. Follows links only to places below it. */
export async function serveFile(
  host: NodeLogFiles,
  root: string,
  below: string,
  request: ServerRequest,
): Promise<RouteResponse> {
  if (below.includes('\0')) return notFound;
  try {
    const held = await holdLogFile(host, root, below);
    try {
      const { kind } = await held.stat();
      if (kind === 'directory') {
        if (below !== '' && !below.endsWith('/')) return redirect(`${path.posix.basename(request.path)}/`);
        return await listing(held);
      }
      if (kind !== 'file' || below.endsWith('/')) return notFound;
      return await content(await held.openFile(), below, request);
    } finally {
      await held.close();
    }
  } catch (error) {
    if (isHostError(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'EXDEV', 'ENAMETOOLONG')) return notFound;
    if (isHostError(error, 'EACCES', 'EPERM')) return plainError(403, '403 Forbidden');
    if (isHostError(error, 'ETIMEDOUT')) return plainError(504, `504 Gateway Timeout: ${errorText(error)}`);
    return plainError(500, `500 Internal Server Error: ${errorText(error)}`);
  }
}

/** Holds every directory on the way down, so that nothing replaced meanwhile leads out of it. */
export async function holdLogFile(host: NodeLogFiles, root: string, below: string): Promise<HeldPath> {
  const normal = path.posix.join('/', below).slice(1);
  return await holdBelow(host, root, normal, { absoluteLinks: 'of the machine' });
}

async function listing(held: HeldPath): Promise<RouteResponse> {
  const names: string[] = [];
  const directory = await held.openDirectory();
  try {
    for (let part = await directory.next(); part.length > 0; part = await directory.next()) {
      names.push(...part.map(({ name, kind }) => (kind === 'directory' ? `${name}/` : name)));
      if (names.length >= mostEntries) break;
    }
  } finally {
    await directory.close();
  }
  const links = names
    .slice(0, mostEntries)
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

/** Takes ownership of the file. */
async function content(file: OpenedFile, name: string, request: ServerRequest): Promise<RouteResponse> {
  try {
    const response = await contentResponse(file, name, request);
    if (!isStreamed(response.body)) await file.close();
    return response;
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function contentResponse(
  file: OpenedFile,
  name: string,
  request: ServerRequest,
): Promise<RouteResponse> {
  const { sizeBytes, modifiedMs } = await file.stat();
  const common = { 'Last-Modified': new Date(modifiedMs).toUTCString(), 'Accept-Ranges': 'bytes' };
  const known = Date.parse(request.headers['if-modified-since'] ?? '');
  if (!Number.isNaN(known) && Math.floor(modifiedMs / 1000) * 1000 <= known) {
    return { status: 304, headers: common, body: '' };
  }
  const range = requestedRange(request.headers.range, sizeBytes);
  if (range === 'unsatisfiable') {
    const response = plainError(416, 'invalid range: failed to overlap');
    return { ...response, headers: { ...response.headers, 'Content-Range': `bytes */${sizeBytes}` } };
  }
  const { start, end } = range ?? { start: 0, end: sizeBytes - 1 };
  const type = await contentType(file, name);
  let streaming = false;
  // A client that has left is sent nothing, so nothing else would close the file.
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
        await writeFileTo(file, { start, end }, sink, signal);
      },
    },
  };
}

const partBytes = 64 * 1024;

/** Writes a part of the file, ends included, and closes the file. Omits what the file has lost since. */
export async function writeFileTo(
  file: OpenedFile,
  { start, end }: { readonly start: number; readonly end: number },
  sink: BodySink,
  signal: AbortSignal | undefined,
): Promise<void> {
  try {
    for (let at = start; at <= end; ) {
      throwIfCancelled(signal);
      const part = Buffer.alloc(Math.min(partBytes, end - at + 1));
      const count = await file.read(part, at);
      if (count === 0) return;
      await sink.write(part.subarray(0, count));
      at += count;
    }
  } finally {
    await file.close();
  }
}

/** Serves a single range; for several, or of an unknown kind, the whole file. */
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

async function contentType(file: OpenedFile, name: string): Promise<string> {
  const known = types.get(path.extname(name));
  if (known !== undefined) return known;
  const begin = Buffer.alloc(512);
  const count = await file.read(begin, 0);
  // Never as HTML: logs contain what anybody wrote.
  return begin.subarray(0, count).includes(0) ? 'application/octet-stream' : 'text/plain; charset=utf-8';
}
