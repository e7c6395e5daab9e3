import { execFileSync } from 'node:child_process';
import { appendFile, mkdir, mkdtemp, rename, rm, symlink, unlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock, TaskGroup } from '../../async/index.js';
import { FollowedFiles, type FollowedFilesOptions } from './followed-files.js';

let dir: string;
let tasks: TaskGroup;
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'nodelet-followed-'));
  tasks = new TaskGroup({
    onError: (_task, error) => {
      throw error;
    },
  });
});
afterEach(async () => {
  await tasks.stop();
  await rm(dir, { recursive: true, force: true });
});

const at = (name: string): string => path.join(dir, name);
const put = (name: string, text: string): Promise<void> => writeFile(at(name), text);
/** Written long ago: nobody takes it for half-written. */
const putOld = async (name: string, text: string): Promise<void> => {
  await put(name, text);
  await utimes(at(name), 1, 1);
};

/** The content by file name, as whoever follows the files has it, and the problems. */
class Follower {
  content: Record<string, string> = {};
  problems: Record<string, string> = {};
  deliveries = 0;
  readonly #files: FollowedFiles;

  constructor(options: Partial<FollowedFilesOptions> = {}) {
    this.#files = new FollowedFiles({
      inputs: [dir],
      accepts: (name) => name.endsWith('.yaml'),
      clock: systemClock,
      ...options,
    });
  }

  async look(): Promise<boolean> {
    const reading = await this.#files.look();
    if (reading !== undefined) this.#take(reading);
    return reading !== undefined;
  }

  #take({ files, changed, problems }: NonNullable<Awaited<ReturnType<FollowedFiles['look']>>>): void {
    this.deliveries++;
    this.content = Object.fromEntries(
      files.map((file) => [
        path.relative(dir, file),
        changed.get(file) ?? this.content[path.relative(dir, file)] ?? '',
      ]),
    );
    this.problems = Object.fromEntries([...problems].map(([file, what]) => [path.relative(dir, file), what]));
  }

  async run(): Promise<void> {
    await this.look();
    tasks.start('following', (signal) => this.#files.run(async (reading) => this.#take(reading), signal));
  }

  async until(content: Record<string, string>): Promise<void> {
    await expect.poll(() => this.content, { timeout: 10_000, interval: 10 }).toEqual(content);
  }
}

describe('one look', () => {
  it.each<[string, () => Promise<unknown>, Record<string, string>, Record<string, string | RegExp>]>([
    [
      'files of the directory by name, without dot files and others',
      async () => {
        await put('b.yaml', '2');
        await put('a.yaml', '1');
        await put('.c.yaml', '3');
        await put('d.txt', '4');
      },
      { 'a.yaml': '1', 'b.yaml': '2' },
      {},
    ],
    ['no directories in it', () => mkdir(at('a.yaml')), {}, {}],
    [
      'what links point to',
      async () => {
        await put('real', '1');
        await symlink('real', at('a.yaml'));
      },
      { 'a.yaml': '1' },
      {},
    ],
    [
      'a link that leads nowhere',
      () => symlink('none', at('a.yaml')),
      {},
      { 'a.yaml': 'it is a link that leads nowhere' },
    ],
    [
      'no FIFO',
      async () => execFileSync('mkfifo', [at('a.yaml')]),
      {},
      { 'a.yaml': 'not a regular file; put the manifest itself there' },
    ],
    [
      'nothing huge',
      () => put('a.yaml', 'x'.repeat(11 << 20)),
      {},
      { 'a.yaml': /^it has \d+ bytes; a manifest must be smaller than/ },
    ],
  ])('reads %s', async (_what, make, content, problems) => {
    await make();
    const follower = new Follower();
    await follower.look();
    expect(follower.content).toEqual(content);
    expect(Object.keys(follower.problems)).toEqual(Object.keys(problems));
    for (const [file, what] of Object.entries(problems)) expect(follower.problems[file]).toMatch(what);
  });

  it('tells an input that is not there, and takes a named file of any name, once', async () => {
    await put('notes.txt', '1');
    const follower = new Follower({ inputs: [at('none'), at('notes.txt'), `${dir}/./notes.txt`] });
    await follower.look();
    expect(follower.content).toEqual({ 'notes.txt': '1' });
    expect(follower.problems).toEqual({ none: 'there is no such file or directory' });
  });

  it('keeps to its limits: what does not fit changes nothing', async () => {
    await putOld('a.yaml', '12345');
    const follower = new Follower({ limits: { totalBytes: 10, filesOfDirectory: 2 } });
    await follower.look();
    await putOld('b.yaml', '123456');
    await follower.look();
    expect(follower.content).toEqual({ 'a.yaml': '12345' });
    expect(follower.problems['b.yaml']).toBe('with it, the manifests have more than 10 bytes; remove some');
    await putOld('b.yaml', '12345');
    await follower.look();
    expect(follower.content).toEqual({ 'a.yaml': '12345', 'b.yaml': '12345' });
    await putOld('c.yaml', '');
    await follower.look();
    expect(follower.content).toEqual({ 'a.yaml': '12345', 'b.yaml': '12345' });
    expect(follower.problems).toEqual({
      '': 'it has more than 2 manifests; put some into another directory',
    });
  });

  it('of thousands of files reads only what changed', async () => {
    const many = Array.from({ length: 3_000 }, (_, index) => `f${String(index).padStart(4, '0')}.yaml`);
    await Promise.all(many.map((name) => putOld(name, name)));
    const follower = new Follower();
    await follower.look();
    expect(Object.keys(follower.content)).toEqual(many);
    expect(await follower.look()).toBe(false);
    await putOld('f0007.yaml', 'other');
    expect(await follower.look()).toBe(true);
    expect(follower.content['f0007.yaml']).toBe('other');
  });

  it('finds a change of a file that has the same size and times', async () => {
    await putOld('a.yaml', '1');
    const follower = new Follower();
    await follower.look();
    await putOld('a.yaml', '2');
    await follower.look();
    expect(follower.content).toEqual({ 'a.yaml': '2' });
  });

  it('keeps what became a FIFO, a link to nowhere or to itself, or huge, and tells each once', async () => {
    await putOld('a.yaml', '1');
    const follower = new Follower();
    await follower.look();
    for (const make of [
      async () => execFileSync('mkfifo', [at('a.yaml')]),
      () => symlink('none', at('a.yaml')),
      () => symlink('a.yaml', at('a.yaml')),
      () => putOld('a.yaml', 'x'.repeat(11 << 20)),
    ]) {
      await unlink(at('a.yaml'));
      await make();
      expect(await follower.look()).toBe(true);
      expect(follower.content).toEqual({ 'a.yaml': '1' });
      expect(Object.keys(follower.problems)).toEqual(['a.yaml']);
      expect(await follower.look()).toBe(false);
    }
  });

  it('does not read what is being written, for a while', async () => {
    await putOld('a.yaml', 'whole');
    const follower = new Follower({ limits: { settledMs: 60_000, longestUnsettledMs: 200 } });
    await follower.look();
    await put('a.yaml', 'ha');
    await follower.look();
    expect(follower.content).toEqual({ 'a.yaml': 'whole' });
    await expect
      .poll(async () => (await follower.look()) && follower.content, { timeout: 5_000 })
      .toEqual({ 'a.yaml': 'ha' });
  });
});

describe('following', () => {
  it('shows changes however an editor writes, and removals', async () => {
    await put('a.yaml', '1');
    const follower = new Follower();
    await follower.run();
    await follower.until({ 'a.yaml': '1' });
    await put('a.yaml.new', '2');
    await rename(at('a.yaml.new'), at('a.yaml'));
    await follower.until({ 'a.yaml': '2' });
    await writeFile(at('a.yaml'), '3');
    await follower.until({ 'a.yaml': '3' });
    await put('b.yaml', '4');
    await follower.until({ 'a.yaml': '3', 'b.yaml': '4' });
    await unlink(at('a.yaml'));
    await follower.until({ 'b.yaml': '4' });
  });

  it('takes a file that is removed and written again for one that changed', async () => {
    await put('a.yaml', '1');
    const follower = new Follower();
    await follower.run();
    const seen: string[][] = [];
    for (let round = 0; round < 3; round++) {
      await unlink(at('a.yaml'));
      await new Promise((resolve) => setTimeout(resolve, 250));
      seen.push(Object.keys(follower.content));
      await put('a.yaml', String(round));
      await follower.until({ 'a.yaml': String(round) });
    }
    expect(seen).toEqual([['a.yaml'], ['a.yaml'], ['a.yaml']]);
  });

  it('shows a file that is written in parts only as a whole', async () => {
    const follower = new Follower();
    const seen = new Set<string>();
    await follower.run();
    for (const part of ['a', 'b', 'c', 'd', 'e']) {
      await appendFile(at('a.yaml'), part);
      await new Promise((resolve) => setTimeout(resolve, 50));
      seen.add(follower.content['a.yaml'] ?? 'none');
    }
    await follower.until({ 'a.yaml': 'abcde' });
    expect([...seen]).toEqual(['none']);
  });

  it('goes on when the directory disappears and comes back', async () => {
    await mkdir(at('m'));
    await put('m/a.yaml', '1');
    const follower = new Follower({ inputs: [at('m')] });
    await follower.run();
    await follower.until({ 'm/a.yaml': '1' });
    await rename(at('m'), at('away'));
    await follower.until({});
    expect(follower.problems).toEqual({ m: 'there is no such file or directory' });
    await rename(at('away'), at('m'));
    await follower.until({ 'm/a.yaml': '1' });
    await put('m/a.yaml', '2');
    await follower.until({ 'm/a.yaml': '2' });
    expect(follower.problems).toEqual({});
  });

  it('finds changes behind links, of which nothing notifies', async () => {
    await mkdir(at('v1'));
    await mkdir(at('v2'));
    await put('v1/a.yaml', '1');
    await put('v2/a.yaml', '2');
    await symlink('v1', at('current'));
    await symlink('current/a.yaml', at('a.yaml'));
    const follower = new Follower();
    await follower.run();
    await follower.until({ 'a.yaml': '1' });
    await symlink('v2', at('next'));
    await rename(at('next'), at('current'));
    await follower.until({ 'a.yaml': '2' });
    await writeFile(at('v2/a.yaml'), '3');
    await follower.until({ 'a.yaml': '3' });
  });
});
