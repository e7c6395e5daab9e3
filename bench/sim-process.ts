/** Starts the simulated runtime in another process, so that its CPU and memory are not taken for nodelet's. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('sim-server.ts', import.meta.url));
const stopTimeoutMs = 5_000;

export interface SimProcess {
  readonly endpoint: string;
  stop(): Promise<void>;
}

/** Resolves when it serves. It ends with this process, however that ends. */
export async function startSim(socketPath: string): Promise<SimProcess> {
  const child = spawn(process.execPath, ['--import', 'tsx', program, socketPath], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  // The race below tells it; after that an end is what `stop` asks for.
  exited.catch(() => undefined);
  const lines = createInterface({ input: child.stdout });
  const [endpoint] = await Promise.race([
    once(lines, 'line'),
    exited.then(() => Promise.reject(new Error('the simulated runtime ended at its start'))),
  ]);
  return { endpoint: String(endpoint), stop: () => stop(child, exited) };
}

async function stop(child: ChildProcess, exited: Promise<unknown>): Promise<void> {
  const killer = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs);
  child.stdin?.end();
  await exited;
  clearTimeout(killer);
}
