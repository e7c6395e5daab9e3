import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, expect, it } from 'vitest';
import { identify, living } from '../process/identity.js';
import { killShimsOf } from './containerd-processes.js';

const started: ChildProcess[] = [];
afterEach(() => {
  // The group: also what a shim that is not killed runs.
  for (const { pid, exitCode, signalCode } of started.splice(0))
    if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, 'SIGKILL');
});

/** A shell under the name of a shim, that runs something, whose pid it prints. */
async function fakeShim(socket: string, name = 'containerd-shim-runc-v2'): Promise<[ChildProcess, number]> {
  const args = ['-c', 'sleep 1000 & echo $!; wait', '-namespace', 'k8s.io', '-address', socket];
  const shim = spawn('/bin/sh', args, {
    argv0: `/usr/bin/${name}`,
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: true,
  });
  started.push(shim);
  const [line] = await once(shim.stdout, 'data');
  return [shim, Number(String(line))];
}

it('kills the shims of one containerd with what they run, and nothing else', async () => {
  const own = `/run/nodelet-test-${process.pid}/own.sock`;
  const [forgotten, child] = await fakeShim(own);
  const others = [await fakeShim(`${own}2`), await fakeShim(own, 'another-program')];
  const before = identify(child);
  const bystanders = others.flatMap(([shim, pid]) => [identify(shim.pid ?? 0), identify(pid)]);
  const ended = once(forgotten, 'exit');
  await killShimsOf(own);
  expect((await ended)[1]).toBe('SIGKILL');
  await expect.poll(() => living([before])).toEqual(new Set());
  expect(await living(bystanders)).toEqual(new Set(bystanders));
});
