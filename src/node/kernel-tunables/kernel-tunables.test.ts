import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import { Timeline, type TimelineEntry } from '../../timeline/index.js';
import { applyKernelTunables } from './apply.js';
import { kernelTunables, tunableChanges, tunableProblem } from './plan.js';

const wanted = new Map(kernelTunables.map(({ name, value }) => [name, value]));

it.each<[rule: string, actual: [string, number][], changes: object[], problem: string | undefined]>([
  ['all as they should be', [], [], undefined],
  [
    'one that differs',
    [['kernel/panic', 0]],
    [{ name: 'kernel/panic', from: 0, to: 10 }],
    'invalid kernel flag: kernel/panic, expected value: 10, actual value: 0',
  ],
  [
    'two that differ',
    [
      ['kernel/panic', 0],
      ['vm/overcommit_memory', 2],
    ],
    [
      { name: 'vm/overcommit_memory', from: 2, to: 1 },
      { name: 'kernel/panic', from: 0, to: 10 },
    ],
    '[invalid kernel flag: vm/overcommit_memory, expected value: 1, actual value: 2, invalid kernel flag: kernel/panic, expected value: 10, actual value: 0]',
  ],
])('%s', (_, actual, changes, problem) => {
  const found = tunableChanges(new Map([...wanted, ...actual]));
  expect(found).toEqual(changes);
  expect(tunableProblem(found)).toBe(problem);
});

let root: string;
let told: TimelineEntry[];
let timeline: Timeline;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'nodelet-tunables-'));
  for (const [name, value] of wanted) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), `${value}\n`);
  }
  timeline = new Timeline({ clock: new VirtualClock() });
  told = [];
  timeline.subscribe((entry) => told.push(entry));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));
const apply = (protect: boolean, toleratesRefusal = false): void =>
  applyKernelTunables({ timeline, protect, toleratesRefusal, root });
const panic = (): string => readFileSync(join(root, 'kernel/panic'), 'utf8');

it('writes what differs and tells it', () => {
  writeFileSync(join(root, 'kernel/panic'), '1\n');
  apply(false);
  expect(panic()).toBe('10');
  expect(told.map(({ what, data }) => [what, data])).toEqual([
    ['node.kernel', { name: 'kernel/panic', from: 1, to: 10 }],
  ]);
});

it('writes nothing where it must not', () => {
  apply(true);
  writeFileSync(join(root, 'kernel/panic'), '1\n');
  expect(() => apply(true)).toThrow('invalid kernel flag: kernel/panic, expected value: 10, actual value: 1');
  expect(panic()).toBe('1\n');
});

it('a setting that cannot be read ends the start', () => {
  rmSync(join(root, 'kernel/panic'));
  expect(() => apply(false)).toThrow('ENOENT');
});
