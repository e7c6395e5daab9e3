import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { removeTree } from './remove-tree.js';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'nodelet-tree-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

describe('removing a tree', () => {
  it('takes links away and leaves alone what they lead to', async () => {
    mkdirSync(join(dir, 'outside'));
    writeFileSync(join(dir, 'outside/kept'), '');
    mkdirSync(join(dir, 'tree/a/b'), { recursive: true });
    symlinkSync(join(dir, 'outside'), join(dir, 'tree/a/link'));
    symlinkSync(join(dir, 'outside/kept'), join(dir, 'tree/a/b/file-link'));
    symlinkSync('/nowhere', join(dir, 'tree/dangling'));
    writeFileSync(join(dir, 'tree/a/b/file'), '');
    chmodSync(join(dir, 'tree/a/b'), 0o000);
    await removeTree(join(dir, 'tree'));
    expect(readdirSync(dir)).toEqual(['outside']);
    expect(existsSync(join(dir, 'outside/kept'))).toBe(true);
  });

  it('that is a link itself takes the link away', async () => {
    mkdirSync(join(dir, 'outside'));
    symlinkSync(join(dir, 'outside'), join(dir, 'tree'));
    await removeTree(join(dir, 'tree'));
    expect(readdirSync(dir)).toEqual(['outside']);
  });

  it('that is gone is no error', async () => {
    await removeTree(join(dir, 'nosuch'));
  });
});
