import { beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import { KeptFiles } from './kept-files.js';

/** Cgroups whose files hold the number of the making of their cgroup. */
class MadeCgroups {
  readonly texts = new Map<string, string>();
  readonly open = new Set<string>();
  opens = 0;
  shortReads = 0;

  put(path: string, text: string): void {
    this.texts.set(path, text);
  }

  keep = (path: string): { read(): string | undefined; close(): void } | undefined => {
    const opened = this.texts.get(path);
    if (opened === undefined) return undefined;
    this.opens++;
    const descriptor = `${path} ${this.opens}`;
    this.open.add(descriptor);
    return {
      // As the kernel does: another cgroup of that name is not read through this one.
      read: () => (this.texts.get(path) === opened ? opened : undefined),
      close: () => void this.open.delete(descriptor),
    };
  };

  readCgroupFile = (path: string): string | undefined => {
    this.shortReads++;
    return this.texts.get(path);
  };
}

describe('files of cgroups that stay open', () => {
  let made: MadeCgroups;
  let clock: VirtualClock;

  beforeEach(() => {
    made = new MadeCgroups();
    clock = new VirtualClock(0);
    for (const name of ['a', 'b', 'c']) {
      made.put(`/cg/${name}/x`, `${name}1`);
      made.put(`/cg/${name}/y`, `${name}2`);
    }
  });

  const keptFiles = (limit = 100): KeptFiles => new KeptFiles({ clock, files: made, limit });
  const readBoth = (kept: KeptFiles, name: string): unknown => {
    const read = kept.of(`/${name}`);
    return [read(`/cg/${name}`, 'x'), read(`/cg/${name}`, 'y')];
  };

  it('are opened once', () => {
    const kept = keptFiles();
    for (let scrape = 0; scrape < 3; scrape++) expect(readBoth(kept, 'a')).toEqual(['a1', 'a2']);
    expect([made.opens, made.shortReads, kept.size]).toEqual([2, 0, 2]);
  });

  it('beyond the limit are opened for each reading, and the others stay', () => {
    const kept = keptFiles(3);
    for (let scrape = 0; scrape < 3; scrape++) {
      for (const name of ['a', 'b', 'c']) expect(readBoth(kept, name)).toEqual([`${name}1`, `${name}2`]);
    }
    expect([made.opens, made.shortReads, made.open.size]).toEqual([3, 9, 3]);
  });

  it('of a cgroup that was made anew are opened anew', () => {
    const kept = keptFiles();
    readBoth(kept, 'a');
    made.put('/cg/a/x', 'new1');
    made.put('/cg/a/y', 'new2');
    expect(readBoth(kept, 'a')).toEqual(['new1', 'new2']);
    expect(made.open.size).toBe(2);
  });

  it('of a cgroup that is gone are closed', () => {
    const kept = keptFiles();
    readBoth(kept, 'a');
    made.texts.delete('/cg/a/x');
    made.texts.delete('/cg/a/y');
    expect(readBoth(kept, 'a')).toEqual([undefined, undefined]);
    expect([made.open.size, kept.size]).toEqual([0, 0]);
  });

  it('of cgroups that a scrape no longer shows are closed', () => {
    const kept = keptFiles();
    for (const name of ['a', 'b']) readBoth(kept, name);
    kept.closeExcept(new Set(['/b']));
    expect([...made.open].map((each) => each.slice(0, 5))).toEqual(['/cg/b', '/cg/b']);
  });

  it('are closed when nobody reads for two minutes, and then no timer runs', async () => {
    const kept = keptFiles();
    readBoth(kept, 'a');
    readBoth(kept, 'b');
    await clock.advance(90_000);
    readBoth(kept, 'b');
    await clock.advance(60_000);
    expect([made.open.size, clock.pendingTimers]).toEqual([2, 1]);
    await clock.advance(120_000);
    expect([made.open.size, kept.size, clock.pendingTimers]).toEqual([0, 0, 0]);
  });

  it('of one process only stay open in each cgroup', () => {
    const kept = keptFiles();
    made.put('/proc/5/limits', 'five');
    made.put('/proc/6/limits', 'six');
    readBoth(kept, 'a');
    for (let scrape = 0; scrape < 2; scrape++) expect(kept.ofProcess('/a', '/proc/5/limits')).toBe('five');
    expect(kept.size).toBe(3);
    expect(kept.ofProcess('/a', '/proc/6/limits')).toBe('six');
    made.put('/proc/6/limits', 'another six');
    expect(kept.ofProcess('/a', '/proc/6/limits')).toBe('another six');
    expect([kept.size, made.open.size]).toEqual([3, 3]);
    expect(kept.ofProcess('/a', '/proc/7/limits')).toBeUndefined();
    expect([kept.size, made.open.size]).toEqual([2, 2]);
    kept.close('/a');
    expect([kept.size, made.open.size, clock.pendingTimers]).toEqual([0, 0, 0]);
  });

  it('are all closed at the end, and none stays open after it', () => {
    const kept = keptFiles();
    readBoth(kept, 'a');
    kept.end();
    expect(readBoth(kept, 'b')).toEqual(['b1', 'b2']);
    expect([made.open.size, made.shortReads, clock.pendingTimers]).toEqual([0, 2, 0]);
  });
});
