import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../async/index.js';
import { linuxHost } from '../../host/index.js';
import { Timeline } from '../../timeline/index.js';
import { ask } from '../api/test-kubelet.js';
import { listen, type ServerListener } from '../listen.js';
import { isStreamed } from '../responses.js';
import { type NodeLogFiles, requestedRange, serveFile } from './files.js';
import { nodeLogsRoute } from './index.js';
import { decodeNodeLogQuery, journalCommand } from './query.js';
import type { Journal } from './services.js';

const top = mkdtempSync(path.join(tmpdir(), 'nodelet-logs-'));
const root = path.join(top, 'log');
mkdirSync(path.join(root, 'svc'), { recursive: true });
writeFileSync(path.join(root, 'a<b>.log'), 'hello log');
writeFileSync(path.join(root, 'svc', 'svc.log'), 'from svc\n');
writeFileSync(path.join(root, 'plain'), 'text');
writeFileSync(path.join(root, 'binary'), Buffer.from([1, 0, 2]));
writeFileSync(path.join(top, 'secret'), 'secret');
symlinkSync('../secret', path.join(root, 'escape'));
symlinkSync('svc/svc.log', path.join(root, 'inside'));
utimesSync(path.join(root, 'plain'), 1_700_000_000, 1_700_000_000);
afterAll(() => rmSync(top, { recursive: true }));

let open: ServerListener[] = [];
afterEach(async () => {
  for (const listener of open) await listener.close();
  open = [];
});

const journal: Journal = {
  units: async () => new Set(['kubelet.service', 'sshd.service']),
  read: async (command, write) => {
    if (command.words.includes('--unit=sshd')) throw new Error('cannot run');
    await write(Buffer.from(`journal ${command.words.join(' ')}\n`));
  },
};

async function logs(query = true): Promise<number> {
  const listener = await listen([nodeLogsRoute({ root, query, clock: systemClock, journal })], {
    name: 'healthz',
    address: '127.0.0.1',
    port: 0,
    timeline: new Timeline(),
  });
  open.push(listener);
  return listener.address()!.port;
}

describe('files that are swapped while they are served', () => {
  it('nothing outside of the directory is ever exposed', async () => {
    const host = linuxHost();
    // Before any file call somebody may swap the directory of a log for a link to elsewhere, or back.
    let swaps = 0;
    const swap = (): void => {
      swaps++;
      if (swaps % 2 === 1) {
        renameSync(path.join(root, 'swapped'), path.join(root, 'aside'));
        symlinkSync('../other', path.join(root, 'swapped'));
      } else {
        unlinkSync(path.join(root, 'swapped'));
        renameSync(path.join(root, 'aside'), path.join(root, 'swapped'));
      }
    };
    mkdirSync(path.join(root, 'swapped'));
    mkdirSync(path.join(top, 'other'));
    writeFileSync(path.join(root, 'swapped/messages'), 'a log');
    writeFileSync(path.join(top, 'other/messages'), 'secret');
    for (let step = 0; step < 12; step++) {
      let calls = 0;
      const watched = <T extends object>(target: T): T =>
        new Proxy(target, {
          get: (_, key) => {
            const value: unknown = Reflect.get(target, key);
            if (typeof value !== 'function') return value;
            return async (...inputs: unknown[]): Promise<unknown> => {
              if (calls++ === step) swap();
              const result: unknown = await value.apply(target, inputs);
              return typeof result === 'object' && result !== null && 'child' in result
                ? watched(result)
                : result;
            };
          },
        });
      const files: NodeLogFiles = {
        hold: (place) => host.hold(place).then(watched),
        files: watched(host.files),
      };
      const response = await serveFile(files, root, 'swapped/messages', {
        path: '/logs/swapped/messages',
        headers: {},
      } as never);
      const chunks: string[] = [];
      if (isStreamed(response.body))
        await response.body.stream(
          { write: async (bytes) => void chunks.push(bytes.toString()) },
          new AbortController().signal,
        );
      expect([chunks.join(''), response.status], `step ${step}`).toEqual(
        chunks.length > 0 ? ['a log', 200] : ['', 404],
      );
    }
    if (swaps % 2 === 1) swap();
    expect(swaps).toBeGreaterThan(4);
    rmSync(path.join(root, 'swapped'), { recursive: true });
  });
  it('a pipe is not a log', async () => {
    execFileSync('mkfifo', [path.join(root, 'pipe')]);
    const port = await logs();
    expect((await ask(port, 'GET /logs/pipe')).status).toBe(404);
    rmSync(path.join(root, 'pipe'));
  });
});

describe('files', () => {
  it.each<[string, string, number, string | RegExp]>([
    ['a file', 'a%3Cb%3E.log', 200, 'hello log'],
    ['a list', '', 200, /<a href="a%3Cb%3E.log">a&lt;b&gt;.log<\/a>\n[\s\S]*<a href="svc\/">svc\/<\/a>/],
    ['a listing of a directory', 'svc/', 200, /svc.log/],
    ['a directory without its slash', 'svc', 307, ''],
    ['nothing', 'nope', 404, '404 page not found\n'],
    ['a file as a directory', 'plain/', 404, '404 page not found\n'],
    ['below a file', 'plain/x', 404, '404 page not found\n'],
    ['a link that leads out', 'escape', 404, '404 page not found\n'],
    ['a link that stays inside', 'inside', 200, 'from svc\n'],
    ['an encoded parent path', '..%2Fsecret', 404, '404 page not found\n'],
    ['a zero', 'plain%00', 404, '404 page not found\n'],
  ])('%s', async (_, target, status, body) => {
    const reply = await ask(await logs(), `GET /logs/${target}`);
    expect(reply.status).toBe(status);
    if (typeof body === 'string') expect(reply.body).toBe(body);
    else expect(reply.body).toMatch(body);
  });

  it('serves ranges and 304', async () => {
    const port = await logs();
    const get = (headers: Record<string, string>) => ask(port, 'GET /logs/plain', headers);
    expect(await get({ Range: 'bytes=1-2' })).toMatchObject({
      status: 206,
      body: 'ex',
      headers: { 'content-range': 'bytes 1-2/4', 'content-type': 'text/plain; charset=utf-8' },
    });
    expect((await get({ Range: 'bytes=9-' })).status).toBe(416);
    expect((await get({ 'If-Modified-Since': new Date(1_700_000_000_000).toUTCString() })).status).toBe(304);
    expect((await get({ 'If-Modified-Since': new Date(1_600_000_000_000).toUTCString() })).body).toBe('text');
    expect((await ask(port, 'GET /logs/binary')).headers['content-type']).toBe('application/octet-stream');
    expect((await ask(port, 'POST /logs/plain')).status).toBe(405);
  });

  it.each([
    ['bytes=0-0', { start: 0, end: 0 }],
    ['bytes=5-', { start: 5, end: 9 }],
    ['bytes=-3', { start: 7, end: 9 }],
    ['bytes=-30', { start: 0, end: 9 }],
    ['bytes=5-99', { start: 5, end: 9 }],
    ['bytes=10-', 'unsatisfiable'],
    ['bytes=-0', 'unsatisfiable'],
    ['bytes=1-2,4-5', undefined],
    ['lines=1-2', undefined],
    ['bytes=5-1', undefined],
    [undefined, undefined],
  ])('range %s of ten bytes', (header, range) => {
    expect(requestedRange(header, 10)).toEqual(range);
  });
});

describe('queries', () => {
  it.each<[string, number, string]>([
    ['?query=kubelet&tailLines=100001', 406, 'tailLines'],
    ['foo?query=kubelet', 406, 'path not allowed in query mode\n'],
    ['?query=../etc/passwd', 406, 'query: Invalid value'],
    ['?query=/etc/passwd', 406, 'query: Invalid value'],
    ['?query=a/missing', 406, 'query: Invalid value'],
    ['?query=a&query=b&query=c&query=d&query=e', 406, 'more than 4 services'],
    ['?query=a%20b', 406, 'unsupported characters'],
    [`?query=${'a'.repeat(257)}`, 406, 'length'],
    ['?query=a/b&query=c', 406, 'file and service'],
    ['?query=a/b&query=c/d', 406, 'more than one file'],
    ['?query=svc/svc.log&tailLines=1', 406, 'file with options'],
    ['?tailLines=1', 406, 'Required value'],
    ['?query=a&pattern=(', 406, 'pattern'],
    ['?query=a&boot=1', 406, 'boot'],
    ['?query=a&sinceTime=2024-01-02T00:00:00Z&untilTime=2024-01-01T00:00:00Z', 406, 'untilTime'],
    ['?query=%20%20', 400, 'query: Invalid value: ["  "]: may not be empty\n'],
    ['?query=kubelet&sinceTime=x', 400, 'invalid time format'],
    ['?query=kubelet&boot=x', 400, 'boot'],
    ['?query=svc/svc.log', 200, 'from svc\n'],
    ['?query=svc', 200, 'from svc\n'],
    ['?query=plain', 200, 'text'],
    ['?query=nope', 200, '\nlog not found for nope\n'],
    ['?query=svc&tailLines=1', 200, 'try without specifying options'],
    ['?query=sshd', 200, '\nerror: journal output not available\n'],
    ['?query=kubelet', 200, 'journal --utc --no-pager --output=short-precise --unit=kubelet\n'],
  ])('%s', async (target, status, body) => {
    const reply = await ask(await logs(), `GET /logs/${target}`);
    expect([reply.status, reply.body]).toEqual([status, expect.stringContaining(body)]);
  });

  it('are ignored when disabled', async () => {
    expect((await ask(await logs(false), 'GET /logs/plain?query=kubelet')).body).toBe('text');
  });

  it('are gzipped for clients that accept only that', async () => {
    const port = await logs();
    const { request } = await import('node:http');
    const zipped = await new Promise<Buffer>((resolve, reject) => {
      const options = {
        host: '127.0.0.1',
        port,
        path: '/logs/?query=svc',
        headers: { 'accept-encoding': 'gzip' },
      };
      request({ ...options, agent: false }, (response) => {
        const chunks: Buffer[] = [];
        response
          .on('data', (chunk: Buffer) => chunks.push(chunk))
          .on('end', () => resolve(Buffer.concat(chunks)));
      })
        .on('error', reject)
        .end();
    });
    expect(gunzipSync(zipped).toString()).toBe('from svc\n');
  });

  it('become arguments of the journal', () => {
    const decoded = decodeNodeLogQuery(
      new URLSearchParams(
        'query=kubelet&sinceTime=2024-01-02T03:04:05Z&untilTime=2024-11-12T13:14:15Z&tailLines=5&pattern=a.b&boot=-1',
      ),
    );
    if (decoded.kind !== 'query') throw new Error(decoded.kind);
    expect(journalCommand(decoded.query, ['kubelet']).words.slice(3)).toEqual([
      '--since=2024-1-2 3:4:5',
      '--until=2024-11-12 13:14:15',
      '--pager-end',
      '--lines=5',
      '--unit=kubelet',
      '--grep=a.b',
      '--boot=-1',
    ]);
  });

  it.each(['-x', '--file=/etc/shadow', '$(id)', 'a b', ';reboot', '../x', 'LABEL=x', 'a\nb'])(
    'a pattern %j is the value of its option',
    (pattern) => {
      const decoded = decodeNodeLogQuery(new URLSearchParams({ query: 'kubelet', pattern }));
      if (decoded.kind !== 'query') throw new Error(decoded.kind);
      expect(journalCommand(decoded.query, ['kubelet']).words.at(-1)).toBe(`--grep=${pattern}`);
    },
  );

  it.each(['a\0b', 'x'.repeat(200_000)])('a pattern that no program can be given is refused', (pattern) =>
    expect(decodeNodeLogQuery(new URLSearchParams({ query: 'kubelet', pattern }))).toEqual({
      kind: 'invalid',
      message: expect.stringMatching(/^pattern: Invalid value: must /),
    }),
  );

  it.each(['-x', '--help'])('a service %j is the value of its option', (service) => {
    const decoded = decodeNodeLogQuery(new URLSearchParams({ query: service }));
    if (decoded.kind !== 'query') throw new Error(decoded.kind);
    expect(journalCommand(decoded.query, [service]).words.at(-1)).toBe(`--unit=${service}`);
  });

  it.each(['a b', '$(id)', ';x', 'a\0b', 'LABEL=x', 'y'.repeat(300)])('%j is no service', (service) =>
    expect(decodeNodeLogQuery(new URLSearchParams({ query: service }))).toMatchObject({
      kind: 'invalid',
      message: expect.stringMatching(/^query: Invalid value: /),
    }),
  );
});
