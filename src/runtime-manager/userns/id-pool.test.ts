import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../async/index.js';
import { Timeline } from '../../timeline/index.js';
import { type IdPool, type IdRange, idPool, parseSubordinateIds } from './id-pool.js';
import { readSubordinateIds } from './subordinate-ids.js';

describe('the output of getsubids', () => {
  it.each<[string, IdRange]>([
    ['0: kubelet 65536 7208960\n', { firstId: 65_536, length: 7_208_960 }],
    ['0: kubelet 0 4294967295', { firstId: 0, length: 4_294_967_295 }],
  ])('%j', (output, expected) => {
    expect(parseSubordinateIds(output)).toEqual(expected);
  });

  it.each([
    ['0: kubelet 65536 65536\n1: kubelet 131072 65536\n', 'it must contain only one line'],
    ['', 'invalid line ""'],
    ['0: kubelet 65536', 'invalid line'],
    ['0: kubelet 65536 65536 1', 'invalid line'],
    ['0: kubelet -1 65536', '"-1" is no id'],
    ['0: kubelet 65536 0x10', '"0x10" is no id'],
    ['0: kubelet 4294967296 65536', '"4294967296" is no id'],
    ['0: kubelet 65536 99999999999999999999', 'is no id'],
  ])('%j is refused', (output, message) => {
    expect(() => parseSubordinateIds(output)).toThrow(message);
  });
});

describe('the pool of ids', () => {
  const unit = 65_536;
  it.each<[string, IdRange | undefined, number, number, IdPool]>([
    ['all but those of the machine', undefined, unit, 110, { firstId: unit, blocks: 65_535 }],
    ['larger blocks', undefined, 3 * unit, 110, { firstId: 3 * unit, blocks: 21_844 }],
    [
      'a range of its own',
      { firstId: 2 * unit, length: 110 * unit },
      unit,
      110,
      { firstId: 2 * unit, blocks: 110 },
    ],
    [
      'up to the largest id',
      { firstId: 2 ** 32 - unit, length: unit },
      unit,
      1,
      { firstId: 2 ** 32 - unit, blocks: 1 },
    ],
  ])('%s', (_, assigned, idsPerPod, maxPods, expected) => {
    expect(idPool(assigned, { idsPerPod, maxPods })).toEqual(expected);
  });

  it.each<[string, IdRange | undefined, number, string]>([
    ['off the grid', { firstId: unit + 1, length: 110 * unit }, unit, 'ID 65537 is not a multiple of 65536'],
    ['with root', { firstId: 0, length: 110 * unit }, unit, 'ID 0 must be greater or equal to 65536'],
    [
      'with half a block',
      { firstId: unit, length: 110 * unit + 1 },
      unit,
      'IDs length 7208961 is not a multiple of 65536',
    ],
    [
      'too short',
      { firstId: unit, length: 109 * unit },
      unit,
      'kubelet user assigned IDs are not enough to support 110 pods',
    ],
    ['beyond the largest id', { firstId: 2 ** 32 - unit, length: 110 * unit }, unit, 'exceed the largest ID'],
    ['of blocks that are too large', undefined, 2 ** 31, 'not enough to support 110 pods'],
  ])('a range %s is refused', (_, assigned, idsPerPod, message) => {
    expect(() => idPool(assigned, { idsPerPod, maxPods: 110 })).toThrow(message);
  });
});

describe('the ids of the user kubelet', () => {
  let dir: string;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'nodelet-subids-'));
  });
  afterEach(() => rm(dir, { recursive: true }));

  const timeline = new Timeline();
  async function read(
    script: string | undefined,
    users = 'root:x:0:0::/:/bin/sh\nkubelet:x:998:998::/:/bin/sh\n',
  ) {
    await writeFile(join(dir, 'passwd'), users);
    if (script !== undefined) {
      await writeFile(join(dir, 'getsubids'), `#!/bin/sh\n${script}\n`);
      await chmod(join(dir, 'getsubids'), 0o755);
    }
    return readSubordinateIds({
      clock: systemClock,
      timeline,
      usersFile: join(dir, 'passwd'),
      // Nothing but the script is found.
      env: { PATH: dir },
    });
  }

  it('are asked of getsubids, for users and groups', async () => {
    const script = `echo "$*" >> ${dir}/asked; echo '0: kubelet 131072 7208960'`;
    expect(await read(script)).toEqual({ firstId: 131_072, length: 7_208_960 });
    const { readFile } = await import('node:fs/promises');
    expect(await readFile(join(dir, 'asked'), 'utf8')).toBe('kubelet\n-g kubelet\n');
  });

  it('are those of the machine without the user, whatever the program says', async () => {
    expect(await read('exit 1', 'root:x:0:0::/:/bin/sh\nkubelets:x:998:998::/:/bin/sh\n')).toBeUndefined();
  });

  it('are those of the machine without the program, and the node tells', async () => {
    expect(await read(undefined)).toBeUndefined();
    expect(timeline.ofNode().at(-1)).toMatchObject({
      what: 'node.userns',
      because: expect.stringContaining('no program getsubids'),
    });
  });

  it.each([
    ['that fails', 'exit 1', 'error retrieving additional ids for user "kubelet": getsubids: exit status 1'],
    [
      'that fails for groups',
      '[ "$1" = -g ] && exit 2; echo "0: kubelet 65536 65536"',
      'error retrieving additional gids for user "kubelet": getsubids: exit status 2',
    ],
    [
      'whose groups differ',
      'echo "0: kubelet 65536 $#"',
      'mismatched subuids and subgids for user "kubelet"',
    ],
    ['with two ranges', 'echo "0: kubelet 1 2"; echo "1: kubelet 3 4"', 'it must contain only one line'],
    [
      'that never stops',
      'while :; do echo 0123456789012345678901234567890123456789; done',
      'bytes of output',
    ],
  ])('a program %s fails the start', async (_, script, message) => {
    await expect(read(script)).rejects.toThrow(message);
  });
});
