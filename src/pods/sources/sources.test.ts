import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock, TaskGroup } from '../../async/index.js';
import { Timeline } from '../../timeline/index.js';
import type { Snapshot } from '../desired/index.js';
import { FileSource } from './file.js';
import { HttpSource } from './http.js';
import type { PodSource, SourceContext } from './source.js';

const manifest = (name: string, image = 'i:1'): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: { containers: [{ name: 'c', image }] },
  });

/** Runs a source and records what it delivers. */
class Harness {
  readonly snapshots: Snapshot[] = [];
  readonly timeline = new Timeline();
  readonly #tasks = new TaskGroup({
    onError: (task, error) => {
      throw new Error(task, { cause: error });
    },
  });
  start(create: (context: SourceContext) => PodSource): void {
    const source = create({
      clock: systemClock,
      timeline: this.timeline,
      pods: { nodeName: 'n', refuseApiReferences: true },
      deliver: async (snapshot) => void this.snapshots.push(snapshot),
    });
    this.#tasks.start('source', (signal) => source.run(signal));
  }
  stop(): Promise<void> {
    return this.#tasks.stop();
  }
  get last(): string[] | undefined {
    return this.snapshots
      .at(-1)
      ?.pods.map((pod) => `${pod.metadata.name} ${pod.spec.containers[0]?.image}`)
      .sort();
  }
  problems(): string[] {
    return this.timeline
      .ofNode()
      .flatMap((entry) => (entry.kind === 'problem' ? [`${entry.message} ${entry.error ?? ''}`] : []));
  }
  /** Waits until the last snapshot has these pods. */
  async until(...pods: string[]): Promise<void> {
    await expect.poll(() => this.last, { timeout: 5000, interval: 5 }).toEqual(pods);
  }
}

let harness: Harness;
let dir: string;
beforeEach(async () => {
  harness = new Harness();
  dir = await mkdtemp(path.join(tmpdir(), 'nodelet-sources-'));
});
afterEach(async () => {
  await harness.stop();
  await rm(dir, { recursive: true, force: true });
});

const put = (name: string, text: string): Promise<void> => writeFile(path.join(dir, name), text);
/** Synchronously, before anything else runs. */
function writeAllAtOnce(files: readonly (readonly [name: string, text: string])[]): void {
  for (const [name, text] of files) writeFileSync(path.join(dir, name), text);
}
/** Waits until changes are reported, which takes a moment after the start. */
async function watching(...others: string[]): Promise<void> {
  await put('a.yaml', manifest('a'));
  await harness.until('a-n i:1', ...others);
  await new Promise((resolve) => setTimeout(resolve, 100));
  await put('a.yaml', manifest('a', 'i:2'));
  await harness.until('a-n i:2', ...others);
}
const isZ = ({ metadata }: { metadata: { name?: string } }): boolean => metadata.name === 'z-n';
const watchDirectory = (checkPeriodMs = 60_000, at = dir): void =>
  harness.start((context) => new FileSource({ ...context, path: at, checkPeriodMs }));

describe('FileSource on a directory', () => {
  it('follows files as they are created, changed and removed', async () => {
    await put('a.yaml', manifest('a'));
    watchDirectory();
    await harness.until('a-n i:1');
    await put('b.yaml', manifest('b'));
    await harness.until('a-n i:1', 'b-n i:1');
    await put('b.yaml', manifest('b', 'i:2'));
    await harness.until('a-n i:1', 'b-n i:2');
    await unlink(path.join(dir, 'a.yaml'));
    await harness.until('b-n i:2');
    await rename(path.join(dir, 'b.yaml'), path.join(dir, '.b.yaml'));
    await harness.until();
  });
  it.each<[string, (file: string) => void, string[][]]>([
    [
      'removed and written again within a moment is a pod that starts over',
      (file) => {
        rmSync(file);
        writeFileSync(file, manifest('a', 'i:2'));
      },
      [[], ['a-n']],
    ],
    [
      'replaced by a file with the same content is the same pod',
      (file) => {
        writeFileSync(path.join(dir, '.new'), manifest('a', 'i:2'));
        renameSync(path.join(dir, '.new'), file);
      },
      [['a-n']],
    ],
    [
      'written over with the same content is the same pod',
      (file) => writeFileSync(file, manifest('a', 'i:2')),
      [['a-n']],
    ],
  ])('a file that is %s', async (_, change, expected) => {
    watchDirectory();
    await watching();
    const before = harness.snapshots.length;
    change(path.join(dir, 'a.yaml'));
    const told = (): (string | undefined)[][] =>
      harness.snapshots.slice(before).map(({ pods }) => pods.map(({ metadata }) => metadata.name));
    await expect.poll(told, { timeout: 5000, interval: 5 }).toEqual(expected);
  });
  it('of many new files, delivers the first pods before all are read', async () => {
    watchDirectory();
    await watching();
    const names = Array.from({ length: 30 }, (_, index) => `p${String(index).padStart(2, '0')}`);
    writeAllAtOnce(names.map((name) => [`${name}.yaml`, manifest(name)]));
    await harness.until('a-n i:2', ...names.map((name) => `${name}-n i:1`));
    const sizes = harness.snapshots.map(({ pods }) => pods.length).filter((size) => size > 1);
    expect(sizes).toEqual([5, 9, 17, 31]);
  });
  it('a pod that moves to another file among many changes is never removed', async () => {
    await put('z.yaml', manifest('z'));
    watchDirectory();
    await watching('z-n i:1');
    renameSync(path.join(dir, 'z.yaml'), path.join(dir, 'moved.yaml'));
    const names = Array.from({ length: 9 }, (_, index) => `p${index}`);
    writeAllAtOnce(names.map((name) => [`${name}.yaml`, manifest(name)]));
    await harness.until('a-n i:2', ...names.map((name) => `${name}-n i:1`), 'z-n i:1');
    const without = harness.snapshots.slice(1).filter(({ pods }) => !pods.some(isZ));
    expect(without).toEqual([]);
  });
  it('reads neither hidden files nor subdirectories, but links to files', async () => {
    await put('.hidden.yaml', manifest('hidden'));
    await mkdir(path.join(dir, 'sub'));
    await put('sub/inner.yaml', manifest('inner'));
    await put('.real', manifest('linked'));
    await symlink('.real', path.join(dir, 'link.yaml'));
    watchDirectory();
    await harness.until('linked-n i:1');
    expect(harness.problems().join()).toContain('sub: not a regular file');
  });
  it('omits a bad manifest, reports it once, and takes it when it is fixed', async () => {
    await put('bad.yaml', manifest('bad').replace('"image"', '"imge"'));
    await put('good.yaml', manifest('good'));
    watchDirectory(30);
    await harness.until('good-n i:1');
    await new Promise((resolve) => setTimeout(resolve, 150));
    const about = harness
      .problems()
      .filter((problem) => problem.includes('bad.yaml') && problem.includes('Required value'));
    expect(about).toHaveLength(1);
    expect(about[0]).toMatch(/bad\.yaml:1:\d+: spec\.containers\[0\]\.image: invalid pod: Required value/);
    await put('bad.yaml', manifest('bad'));
    await harness.until('bad-n i:1', 'good-n i:1');
  });
  it('keeps the pod of a file that became invalid until the next full read', async () => {
    await put('good.yaml', manifest('good'));
    watchDirectory();
    await harness.until('good-n i:1');
    // The watch is up once everything was read a second time.
    await expect.poll(() => harness.snapshots.length, { timeout: 5000 }).toBe(2);
    const before = harness.snapshots.length;
    await put('good.yaml', 'not a pod: [');
    await expect
      .poll(() => harness.problems().some((problem) => problem.includes('good.yaml:1')), { timeout: 5000 })
      .toBe(true);
    expect(harness.snapshots.length).toBe(before);
    expect(harness.last).toEqual(['good-n i:1']);
  });
  it('drops the pod of an invalid file at the next full read', async () => {
    await put('good.yaml', manifest('good'));
    watchDirectory(50);
    await harness.until('good-n i:1');
    await put('good.yaml', 'not a pod: [');
    await harness.until();
  });
  it('two files with one pod: the last name wins, and the conflict is reported once', async () => {
    await put('a.yaml', manifest('same', 'i:a'));
    await put('b.yaml', manifest('same', 'i:b'));
    watchDirectory(30);
    await harness.until('same-n i:b');
    await new Promise((resolve) => setTimeout(resolve, 120));
    const clashes = harness.problems().filter((problem) => problem.includes('is also defined by'));
    expect(clashes).toHaveLength(1);
    expect(clashes[0]).toContain('a.yaml: pod default/same-n is also defined by');
  });
  it('a missing directory has no pods until it is created', async () => {
    await rm(dir, { recursive: true });
    watchDirectory();
    await harness.until();
    expect(harness.problems()[0]).toContain('path does not exist, ignoring');
    await mkdir(dir);
    await put('a.yaml', manifest('a'));
    await harness.until('a-n i:1');
  });
  it('continues after the directory was removed and created again', async () => {
    await put('a.yaml', manifest('a'));
    watchDirectory();
    await harness.until('a-n i:1');
    await rm(dir, { recursive: true });
    await harness.until();
    await mkdir(dir);
    await put('b.yaml', manifest('b'));
    await harness.until('b-n i:1');
  });
  it('rejects a manifest of 10 MiB', async () => {
    await put('big.yaml', `# ${'x'.repeat(10 * 1024 * 1024)}`);
    await put('a.yaml', manifest('a'));
    watchDirectory();
    await harness.until('a-n i:1');
    expect(harness.problems().join()).toContain('big.yaml: it has');
  });
});

describe('FileSource on one file', () => {
  it('follows the file, also when an editor replaces it', async () => {
    await put('pod.yaml', manifest('a'));
    watchDirectory(60_000, path.join(dir, 'pod.yaml'));
    await harness.until('a-n i:1');
    await put('new', manifest('a', 'i:2'));
    await rename(path.join(dir, 'new'), path.join(dir, 'pod.yaml'));
    await harness.until('a-n i:2');
  });
  it('bad content gives no snapshot at all', async () => {
    await put('pod.yaml', 'kind: [');
    watchDirectory(30, path.join(dir, 'pod.yaml'));
    await expect.poll(() => harness.problems().length, { timeout: 5000 }).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(harness.snapshots).toEqual([]);
  });
});

describe('HttpSource', () => {
  let server: Server;
  let answer: { status: number; body: string; location?: string };
  let seen: IncomingHttpHeaders[];
  const url = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}/pods`;
  beforeEach(async () => {
    answer = { status: 200, body: manifest('a') };
    seen = [];
    server = createServer((request, response) => {
      seen.push(request.headers);
      if (request.url === '/moved') {
        response.end(manifest('moved'));
        return;
      }
      response.writeHead(answer.status, answer.location === undefined ? {} : { location: answer.location });
      response.end(answer.body);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterEach(async () => {
    await harness.stop();
    await new Promise((resolve) => server.close(resolve));
  });
  const run = (at = url()): void =>
    harness.start(
      (context) =>
        new HttpSource({ ...context, url: at, headers: { 'X-Token': ['s3cret', 'two'] }, checkPeriodMs: 20 }),
    );
  const waitForRequests = (count: number) =>
    expect.poll(() => seen.length, { timeout: 5000 }).toBeGreaterThanOrEqual(count);

  it('delivers once while the response stays the same', async () => {
    run();
    await waitForRequests(4);
    expect(harness.snapshots).toHaveLength(1);
    expect(seen[0]?.['x-token']).toBe('s3cret, two');
    answer.body = manifest('a', 'i:2');
    await harness.until('a-n i:2');
  });
  it.each([
    ['500', 500, 'oops', /500 Internal Server Error/],
    ['404', 404, 'gone', /404 Not Found/],
    ['HTML', 200, '<html><body>hi</body></html>', /expected a Pod/],
  ])('a response of %s gives no snapshot and a clear error', async (_what, status, body, message) => {
    answer = { status, body };
    run();
    await expect.poll(() => harness.problems()[0], { timeout: 5000 }).toMatch(message);
    await waitForRequests(3);
    expect(harness.snapshots).toEqual([]);
    answer = { status: 200, body: manifest('a') };
    await harness.until('a-n i:1');
  });
  it('an empty response means no pods', async () => {
    answer.body = '';
    run();
    await harness.until();
    expect(harness.problems()[0]).toContain('zero-length data received from');
  });
  it('unreachable: pods stay, and later failures are quieter', async () => {
    run();
    await harness.until('a-n i:1');
    answer = { status: 503, body: '' };
    await waitForRequests(seen.length + 6);
    expect(harness.last).toEqual(['a-n i:1']);
    const levels = harness.timeline
      .ofNode()
      .filter((entry) => entry.what === 'manifest.url')
      .map((entry) => entry.level);
    expect(levels.slice(0, 5)).toEqual(['error', 'error', 'error', 'error', 'debug']);
  });
  it('follows a redirect', async () => {
    answer = { status: 302, body: '', location: '/moved' };
    run();
    await harness.until('moved-n i:1');
  });
  it('never shows the password of the URL', async () => {
    answer.status = 401;
    run(url().replace('http://', 'http://user:hunter2@'));
    await expect.poll(() => harness.problems().length, { timeout: 5000 }).toBeGreaterThan(0);
    expect(JSON.stringify(harness.timeline.ofNode())).not.toMatch(/hunter2|s3cret/);
  });
});
