/** `npm start`: runs the example pods on this machine, on a containerd of its own that goes with it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { CleanupStack, createTempDir, startContainerd } from '../test/env/index.js';

const project = fileURLToPath(new URL('..', import.meta.url));
const manifests = path.join(project, 'examples/pods');

async function main(): Promise<number> {
  const cleanups = new CleanupStack();
  try {
    process.stdout.write(
      'Starting a containerd for the examples (packages that are missing are installed first) …\n',
    );
    const containerd = await startContainerd({ cleanups });
    const { path: dir } = await createTempDir('start', { cleanups });
    const config = path.join(dir, 'config.yaml');
    await writeFile(config, JSON.stringify(configuration(dir, containerd.endpoint)));
    process.stdout.write(
      `Running the pods of ${manifests}\n` +
        'Add, change or remove a manifest there and watch; Ctrl-C stops everything.\n' +
        `In another terminal: curl -s 127.0.0.1:10255/pods\n                     bin/nodelet explain crash --root-dir ${path.join(dir, 'root')}\n\n`,
    );
    const agent = spawn(
      process.execPath,
      [
        path.join(project, 'bin/nodelet'),
        'agent',
        '--config',
        config,
        '--root-dir',
        path.join(dir, 'root'),
        '--container-logs-dir',
        path.join(dir, 'links'),
      ],
      { stdio: 'inherit' },
    );
    const exited = once(agent, 'exit');
    // The terminal sends Ctrl-C to the agent, too; this process only waits for its end and cleans up.
    process.on('SIGINT', () => {}).on('SIGTERM', () => agent.kill('SIGTERM'));
    await exited;
    return agent.exitCode ?? 1;
  } finally {
    process.stdout.write('Stopping the pods and the containerd …\n');
    await cleanups.run();
  }
}

function configuration(dir: string, endpoint: string): Record<string, unknown> {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    staticPodPath: manifests,
    podLogsDir: path.join(dir, 'logs'),
    containerRuntimeEndpoint: endpoint,
    address: '127.0.0.1',
    readOnlyPort: 10255,
    failCgroupV1: false,
    authentication: { webhook: { enabled: false }, anonymous: { enabled: true } },
    authorization: { mode: 'AlwaysAllow' },
  };
}

process.exitCode = await main();
