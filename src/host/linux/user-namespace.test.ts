import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { isInUserNamespace } from './user-namespace.js';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'nodelet-user-namespace-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

it.each([
  ['0 0 4294967295\n', false],
  ['         0     100000      65536\n', true],
  ['         0          0          1\n', true],
  [undefined, false],
])('the map of users %j', (map, expected) => {
  const file = join(root, 'uid_map');
  if (map !== undefined) writeFileSync(file, map);
  expect(isInUserNamespace(file)).toBe(expected);
});
