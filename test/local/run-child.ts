/** `nodelet run` as a child, with its pods running. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { PodManifest } from '../../src/kube/index.js';
import { type CleanupStack, pollUntil } from '../env/index.js';
import { cli, runCli } from './local-node.js';

export interface RunChildOptions {
  readonly name: string;
  readonly pods: readonly PodManifest[];
  /** Where the manifest and the state of runs go. */
  readonly dir: string;
  readonly env: NodeJS.ProcessEnv;
  readonly flags: readonly string[];
  readonly cleanups: CleanupStack;
}

/** Resolves when every pod is ready. */
/** Far more than its pods take to end on a busy machine. */
const endLimitMs = 90_000;

export async function startRun(options: RunChildOptions): Promise<ChildProcess> {
  const { name, pods, dir, env, flags, cleanups } = options;
  const manifest = path.join(dir, `${name}.yaml`);
  await writeFile(manifest, pods.map((pod) => JSON.stringify(pod)).join('\n---\n'));
  const child = spawn(process.execPath, [cli, 'run', manifest, '--name', name, ...flags], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
  }
  cleanups.defer(`run ${name}`, async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    // A hook that waits for ever would hide what the run said.
    const insist = setTimeout(() => child.kill('SIGKILL'), endLimitMs);
    await ended;
    clearTimeout(insist);
    if (child.signalCode === 'SIGKILL')
      throw new Error(`run ${name} did not end within ${endLimitMs} ms of SIGTERM:\n${said.slice(-8000)}`);
  });
  await pollUntil(
    `the pods of ${name}`,
    async () => {
      const { stdout } = await runCli(['get', 'pods', '--run', name], { env });
      return stdout.match(/1\/1 +Running/g)?.length === pods.length ? true : undefined;
    },
    { timeoutMs: 60_000, intervalMs: 200, detail: () => said },
  );
  return child;
}
