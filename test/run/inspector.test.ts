/** SIGUSR1, which opens Node's inspector by default, against every process of nodelet that lives long. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CleanupStack, createTempDir, pollUntil } from '../env/index.js';

const command = fileURLToPath(new URL('../../bin/nodelet', import.meta.url));
const cleanups = new CleanupStack();
afterAll(() => cleanups.run());
let dir = '';
beforeAll(async () => {
  ({ path: dir } = await createTempDir('inspector', { cleanups }));
});

interface Started {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly said: () => string;
}

function start(...args: string[]): Started {
  const child = spawn(process.execPath, [command, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NODELET_STATE_DIR: path.join(dir, 'state') },
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
  }
  cleanups.defer(args.join(' '), async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGTERM');
    await once(child, 'exit');
  });
  return { child, pid: child.pid ?? 0, said: () => said };
}

const until = (what: string, { said }: Started, words: RegExp) =>
  pollUntil(what, () => (words.test(said()) ? true : undefined), { timeoutMs: 60_000, detail: said });

/** The TCP ports on which a process listens, of all of its sockets. */
function portsOf(pid: number): number[] {
  const sockets = new Set(
    readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? [];
      } catch {
        // Closed since the listing.
        return [];
      }
    }),
  );
  const listening = '0A';
  return ['tcp', 'tcp6']
    .flatMap((table) => readFileSync(`/proc/${pid}/net/${table}`, 'utf8').trim().split('\n').slice(1))
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , , state, , , , , , inode]) => state === listening && sockets.has(inode ?? ''))
    .map(([, address = '']) => Number.parseInt(address.split(':')[1] ?? '', 16));
}

/** Bit by bit from signal 1 on. */
function catches(pid: number, signal: number): boolean {
  const mask = /^SigCgt:\t(\w+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '0';
  return ((BigInt(`0x${mask}`) >> BigInt(signal - 1)) & 1n) === 1n;
}
const sigusr1 = 10;

async function staysShut(pid: number): Promise<void> {
  const before = portsOf(pid);
  for (let sent = 0; sent < 5; sent++) {
    process.kill(pid, 'SIGUSR1');
    await sleep(50);
  }
  await sleep(500);
  expect(portsOf(pid)).toEqual(before);
}

const pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'idle' },
  spec: { containers: [{ name: 'main', image: 'host', command: ['sleep', '600'] }] },
};

it('a plain Node process does open it, so that the others mean something', async () => {
  const child = spawn(process.execPath, ['--inspect-port=0', '-e', 'setInterval(() => {}, 1000)']);
  cleanups.defer('plain node', async () => {
    child.kill();
  });
  const pid = child.pid ?? 0;
  await pollUntil('its handler', () => (catches(pid, sigusr1) ? true : undefined), { timeoutMs: 10_000 });
  process.kill(pid, 'SIGUSR1');
  await pollUntil('a port', () => (portsOf(pid).length > 0 ? true : undefined), { timeoutMs: 10_000 });
});

it('the runtime server and the agent live on without it', async () => {
  const socket = path.join(dir, 'cri.sock');
  const runtime = start('cri', 'serve', '--runtime', 'sim', '--listen', `unix://${socket}`);
  await until('the runtime is up', runtime, /cri\.sock/);
  const config = path.join(dir, 'config.yaml');
  await writeFile(
    config,
    JSON.stringify({
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      authentication: { webhook: { enabled: false } },
      authorization: { mode: 'AlwaysAllow' },
      containerRuntimeEndpoint: `unix://${socket}`,
      cgroupsPerQOS: false,
      enforceNodeAllocatable: [],
      failCgroupV1: false,
      failSwapOn: false,
      healthzPort: 0,
      podLogsDir: path.join(dir, 'logs'),
    }),
  );
  const agent = start(
    'agent',
    '--config',
    config,
    '--root-dir',
    path.join(dir, 'root'),
    '--device-plugin-dir',
    path.join(dir, 'devices'),
  );
  await until('the agent is up', agent, /no source of pods/);
  for (const { pid, child, said } of [runtime, agent]) {
    await staysShut(pid);
    expect([child.exitCode, child.signalCode, said()]).toEqual([
      null,
      null,
      expect.not.stringMatching(/Debugger listening|Starting inspector/),
    ]);
  }
});

it('a run and the supervisors of its containers live on without it', async () => {
  const manifest = path.join(dir, 'pod.json');
  await writeFile(manifest, JSON.stringify(pod));
  const run = start('run', manifest, '--runtime', 'process');
  await until('the pod runs', run, /Running|is ready|running/);
  const supervisors = readdirSync('/proc').filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      const words = readFileSync(`/proc/${name}/cmdline`, 'utf8');
      return words.includes('supervisor.js') && words.includes(dir);
    } catch {
      // It ended since the listing.
      return false;
    }
  });
  expect(supervisors.length).toBe(1);
  for (const pid of [run.pid, ...supervisors.map(Number)]) await staysShut(pid);
  expect([run.child.exitCode, run.child.signalCode]).toEqual([null, null]);
});

it('a signal that comes before nodelet has its handler leaves nothing open', async () => {
  const socket = path.join(dir, 'early.sock');
  const runtime = start('cri', 'serve', '--runtime', 'sim', '--listen', `unix://${socket}`);
  // Before Node itself catches it, the signal ends the process.
  while (!catches(runtime.pid, sigusr1)) await new Promise((resolve) => setImmediate(resolve));
  process.kill(runtime.pid, 'SIGUSR1');
  await until('the runtime is up', runtime, /early\.sock/);
  await staysShut(runtime.pid);
  expect(portsOf(runtime.pid)).toEqual([]);
});
