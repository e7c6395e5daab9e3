/** The process runtime holds the CRI contract. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { vi } from 'vitest';
import { parseState, type RecordedState } from '../../src/runtimes/process/container-state.js';
import { ProcessRuntime } from '../../src/runtimes/process/index.js';
import { buildSupervisor } from '../../src/runtimes/process/test-supervisor.js';
import { describeCriContract } from './cri-contract.js';

// Real processes on a machine that may be busy.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

describeCriContract('processes', async () => {
  const root = mkdtempSync(join(tmpdir(), 'nodelet-contract-'));
  const stateDir = join(root, 'state');
  const supervisor = await buildSupervisor();
  let boots = 0;
  const problems: string[] = [];
  const open = () =>
    ProcessRuntime.open({
      stateDir,
      supervisorEntry: supervisor.entry,
      bootId: `boot-${boots}`,
      onProblem: (message, error) => problems.push(`${message}: ${String(error)}`),
    });
  let runtime = await open();
  return {
    get runtime() {
      return runtime;
    },
    image: 'contract.test/busybox:1',
    // Every valid name is an image here.
    missingImage: 'contract.test/NoSuchImage:1',
    logRoot: join(root, 'logs'),
    podNetwork: true,
    containerEvents: true,
    terminals: true,
    echoServer: (port) => ({
      command: [process.execPath, '-e', echoProgram, String(port)],
    }),
    killContainerProcess: async (containerId) => {
      const state = readState(stateDir, containerId);
      if (state.kind === 'running') process.kill(state.process.pid, 'SIGKILL');
    },
    reboot: async () => {
      await runtime.close();
      killAllProcesses(stateDir);
      boots++;
      runtime = await open();
    },
    close: async () => {
      await runtime.close();
      for (const directory of [root, supervisor.directory]) rmSync(directory, { recursive: true });
      if (problems.length > 0) throw new Error(problems.join('\n'));
    },
  };
});

/** A host command, as the containers here are; it keeps its side open until the client has closed its own. */
const echoProgram =
  "require('node:net').createServer({ allowHalfOpen: true }, (c) => c.on('error', () => {}).pipe(c))" +
  ".listen(Number(process.argv[1]), '127.0.0.1')";

function readState(stateDir: string, containerId: string): RecordedState {
  return parseState(readFileSync(join(stateDir, 'containers', containerId, 'state.json'), 'utf8'));
}

/** A machine that goes down takes supervisors and containers with it. */
function killAllProcesses(stateDir: string): void {
  for (const id of readdirSync(join(stateDir, 'containers'))) {
    const state = readState(stateDir, id);
    if (state.kind !== 'running') continue;
    process.kill(state.supervisor.pid, 'SIGKILL');
    process.kill(-state.process.pid, 'SIGKILL');
  }
}
