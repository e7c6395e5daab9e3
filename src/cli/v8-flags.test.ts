import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { v8Flags } from './v8-flags.js';

it.each<[string, 'everyCommand' | 'agent', string[]]>([
  ['20.20.2', 'everyCommand', ['--memory-reducer-single-gc']],
  ['20.20.2', 'agent', ['--semi-space-growth-factor=1', '--interrupt-budget=1500000']],
  ['21.7.3', 'everyCommand', []],
  ['22.23.3', 'everyCommand', ['--memory-reducer-gc-count=1']],
  ['22.23.3', 'agent', ['--semi-space-growth-factor=1']],
  ['24.21.0', 'everyCommand', ['--memory-reducer-gc-count=1']],
  ['24.21.0', 'agent', ['--semi-space-growth-factor=1']],
  ['26.10.0', 'everyCommand', ['--memory-reducer-gc-count=1']],
  ['26.10.0', 'agent', ['--semi-space-growth-factor=1']],
  ['27.0.0', 'everyCommand', []],
  ['27.0.0', 'agent', []],
])('Node %s, %s', (nodeVersion, scope, flags) => {
  expect(v8Flags(nodeVersion, scope)).toEqual(flags);
});

it('the Node that runs this test knows all its flags', () => {
  const { stdout } = spawnSync(process.execPath, ['--v8-options'], { encoding: 'utf8' });
  const known = new Set(stdout.match(/^ {2}--[\w-]+/gm)?.map((flag) => flag.trim()));
  expect(known.size).toBeGreaterThan(100);
  const { node } = process.versions;
  const given = [...v8Flags(node, 'everyCommand'), ...v8Flags(node, 'agent')];
  expect(given.filter((flag) => !known.has(flag.replace(/=.*/, '')))).toEqual([]);
});
