import { copyFileSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { machineFiles } from './host-image.js';

let directory: string;
let node: string;
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'nodelet-host-image-'));
  node = path.join(realpathSync(directory), 'node');
  copyFileSync(process.execPath, node);
});
afterEach(() => rmSync(directory, { recursive: true }));

it('has the running node at its real path, and nothing at the link’s', async () => {
  const files = await machineFiles(node);
  expect(files).toContain(node);
  expect(files).not.toContain('/usr/local/bin/node');
});

it('has node itself where the machine has it at the link’s path', async () => {
  expect(await machineFiles(node, node)).toContain(node);
});
