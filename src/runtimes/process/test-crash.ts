/**
 * For tests: an agent that takes one pod through its life and is killed by SIGKILL right after its n-th step,
 * a step being any operation on files or processes. Started as `node test-crash.js <state directory>
 * <supervisor> <file of marks> <n>`; without a kill it prints its steps.
 */
import childProcess from 'node:child_process';
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { dirname, join } from 'node:path';
import { ProcessRuntime } from './runtime.js';

const [stateDir = '', supervisorEntry = '', marks = '', lastStep = ''] = process.argv.slice(2);
const steps: string[] = [];
const kill = process.kill.bind(process);

function step(name: string): void {
  steps.push(name);
  if (steps.length === Number(lastStep)) kill(process.pid, 'SIGKILL');
}

type FileOperation = (...args: unknown[]) => Promise<unknown>;
// The functions that this module exports; each is called with the arguments it was given.
const files = fs as unknown as Record<string, FileOperation>;
for (const name of ['writeFile', 'rename', 'link', 'unlink', 'mkdir', 'rmdir', 'symlink', 'chmod']) {
  const operation = files[name];
  files[name] = async (...args) => {
    const result = await operation?.(...args);
    step(name);
    return result;
  };
}
const processes = childProcess as { spawn: (...args: never[]) => unknown };
const { spawn } = processes;
processes.spawn = (...args) => {
  const child = spawn(...args);
  step('spawn');
  return child;
};
syncBuiltinESMExports();
process.kill = (pid, signal) => {
  const result = kill(pid, signal);
  step('kill');
  return result;
};

const runtime = await ProcessRuntime.open({ stateDir, supervisorEntry });
const logDirectory = join(dirname(marks), 'logs');
const config = { metadata: { name: 'pod', namespace: 'test', uid: 'uid', attempt: 0 }, logDirectory };
const { podSandboxId } = await runtime.runPodSandbox({ config });
const { containerId } = await runtime.createContainer({
  podSandboxId,
  sandboxConfig: config,
  config: {
    metadata: { name: 'main', attempt: 0 },
    image: { image: 'test' },
    command: ['sh', '-c', `echo started >> '${marks}'; exec sleep 1000`],
    envs: [{ key: 'MARKS', value: Buffer.from(marks) }],
    mounts: [{ containerPath: '/data', hostPath: dirname(marks) }],
    logPath: 'main.log',
  },
});
await runtime.startContainer({ containerId });
await runtime.execSync({ containerId, cmd: ['true'], timeout: 10 });
await runtime.reopenContainerLog({ containerId });
await runtime.stopContainer({ containerId, timeout: 30 });
await runtime.removeContainer({ containerId });
await runtime.removePodSandbox({ podSandboxId });
await runtime.close();
process.stdout.write(JSON.stringify(steps));
