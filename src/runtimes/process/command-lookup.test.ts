import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findCommand } from './command-lookup.js';

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'nodelet-path-'));
  for (const name of ['first', 'second', 'first/directory']) mkdirSync(join(dir, name));
  for (const name of ['second/tool', 'second/plain', 'second/directory']) writeFileSync(join(dir, name), '');
  for (const name of ['second/tool', 'second/directory']) chmodSync(join(dir, name), 0o755);
});
afterAll(() => rmSync(dir, { recursive: true }));

describe('a command', () => {
  const rows: [string, string, string][] = [
    ['is found on the search path', 'tool', 'second/tool'],
    ['is not a directory of the same name', 'directory', 'second/directory'],
    ['with a slash is a path from the working directory', './tool', 'second/tool'],
    ['that does not exist', 'nosuch', 'exec: "nosuch": executable file not found in $PATH'],
    ['that may not be executed is not found', 'plain', 'exec: "plain": executable file not found in $PATH'],
    ['is not empty', '', 'exec: "": executable file not found in $PATH'],
    ['by path that may not be executed', './plain', 'exec: "./plain": permission denied'],
    ['by path that is a directory', '../first', 'exec: "../first": is a directory'],
  ];
  it.each(rows)('%s', (_, command, expected) => {
    const path = `${join(dir, 'first')}:relative::${join(dir, 'second')}`;
    const found = findCommand(command, path, join(dir, 'second'));
    expect(found).toEqual(
      expected.startsWith('exec:')
        ? { found: false, problem: expected }
        : { found: true, path: join(dir, expected) },
    );
  });

  it('by path that does not exist is named in full', () => {
    expect(findCommand('/no/such', '', '/')).toEqual({
      found: false,
      problem: 'exec: "/no/such": stat /no/such: no such file or directory',
    });
  });
});
