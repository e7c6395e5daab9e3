/** Containers of the process runtime on a disk that is full: they live on, and their log and their end are told when it has room. */
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ContainerState } from '../../src/cri/index.js';
import { linuxHost } from '../../src/host/index.js';
import { parseState } from '../../src/runtimes/process/container-state.js';
import type { ProcessRuntime } from '../../src/runtimes/process/runtime.js';
import {
  exited,
  processesWith,
  removePods,
  runPod,
  statusOf,
  TestMachine,
  until,
} from '../../src/runtimes/process/test-pods.js';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const host = linuxHost();
let disk: string;
let machine: TestMachine;
let runtime: ProcessRuntime;
beforeEach(async () => {
  if (process.getuid?.() !== 0)
    throw new Error('real mounts are tested as root on Linux; run these tests there');
  machine = await TestMachine.create();
  disk = realpathSync(mkdtempSync(join('/var/tmp', 'nodelet-full-')));
  await host.mounts.mount({ source: 'tmpfs', target: disk, fsType: 'tmpfs', options: ['size=512k'] });
  runtime = await machine.open({ stateDir: join(disk, 'state') });
});
afterEach(async () => {
  rmSync(join(disk, 'filler'), { force: true });
  await removePods(runtime);
  await until('no supervisor is left', () =>
    processesWith(disk, 'cmdline').length === 0 ? true : undefined,
  );
  await machine.remove();
  await host.mounts.unmount(disk);
  rmSync(disk, { recursive: true });
});

/** Takes all the room that is left. */
function fill(): void {
  const filler = join(disk, 'filler');
  for (let bytes = 64 * 1024; bytes >= 1; bytes = Math.floor(bytes / 2)) {
    try {
      for (;;) writeFileSync(filler, Buffer.alloc(bytes), { flag: 'a' });
    } catch (error) {
      expect(error).toMatchObject({ code: 'ENOSPC' });
    }
  }
}

it('a container lives on while the disk is full; what was lost and how it ended is told when there is room', async () => {
  const logs = join(disk, 'logs');
  mkdirSync(logs);
  const { start } = await runPod(runtime, logs);
  const gate = join(machine.directory, 'gate');
  const wait = (step: number): string => `while [ ! -e ${gate}-${step} ]; do sleep 0.05; done`;
  const flood = `i=0; while [ $i -lt 600 ]; do echo ${'x'.repeat(1_000)}; i=$((i+1)); done`;
  const id = await start({
    command: [
      'sh',
      '-c',
      `echo first; ${wait(1)}; ${flood}; touch ${gate}-full; ${wait(2)}; echo last; ${wait(3)}; exit 7`,
    ],
  });
  const { logPath } = await statusOf(runtime, id);
  const log = (): string => readFileSync(logPath, 'utf8');
  await until('its first line is there', () => (log().includes(' F first\n') ? true : undefined));
  fill();
  writeFileSync(`${gate}-1`, '');
  await until('it has written all', async () => {
    try {
      return readFileSync(`${gate}-full`) && true;
    } catch {
      return undefined;
    }
  });
  expect((await statusOf(runtime, id)).state).toBe(ContainerState.CONTAINER_RUNNING);
  // The supervisor still takes the rest from the pipe: what does not fit is in the file until it is cut off.
  await until('the log ends with a whole record', () => (log().endsWith('\n') ? true : undefined));
  rmSync(join(disk, 'filler'));
  writeFileSync(`${gate}-2`, '');
  await until('its last line is there', () => (log().includes(' F last\n') ? true : undefined));
  expect(
    log().match(/ stderr F nodelet: \d+ records \(\d+ bytes\) of this log were lost here: ENOSPC\n/g),
  ).toHaveLength(1);
  const record = /^\S+ (stdout F (first|x{1000}|last)|stderr F nodelet: \d+ records .*)$/;
  expect(log().split('\n').slice(0, -1)).toSatisfy((lines: string[]) =>
    lines.every((line) => record.test(line)),
  );
  fill();
  const directory = join(disk, 'state/containers', id);
  const tries = new Set<string>();
  const watcher = watch(directory, (_, name) => {
    if (name?.startsWith('state.json.') === true) tries.add(name);
  });
  writeFileSync(`${gate}-3`, '');
  await until('its end was to be written twice', () => (tries.size > 1 ? true : undefined));
  watcher.close();
  expect(parseState(readFileSync(join(directory, 'state.json'), 'utf8')).kind).toBe('running');
  rmSync(join(disk, 'filler'));
  await exited(runtime, id);
  expect((await statusOf(runtime, id)).exitCode).toBe(7);
});
