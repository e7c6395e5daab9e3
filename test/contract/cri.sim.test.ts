/** The simulated runtime holds the CRI contract. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SimRuntime } from '../../src/runtimes/sim/index.js';
import { describeCriContract } from './cri-contract.js';
import { runsForever } from './cri-contract-pods.js';

describeCriContract('simulated', async () => {
  const logRoot = mkdtempSync(join(tmpdir(), 'nodelet-contract-'));
  const image = 'contract.test/busybox:1';
  const runtime = new SimRuntime({
    images: [{ name: image, present: true }],
    logRoot,
    exec: ({ command: [program = ''] }) =>
      program.startsWith('/no/such/') ? { startError: `exec: "${program}": no such file` } : undefined,
  });
  return {
    runtime,
    image,
    missingImage: 'contract.test/nosuchimage:1',
    logRoot,
    podNetwork: true,
    containerEvents: true,
    memoryLimits: true,
    echoServer: (port) => ({
      command: runsForever,
      annotations: { 'sim.nodelet.dev/ports': `${port}=echo` },
    }),
    killSandboxProcess: async (podSandboxId) => runtime.killSandbox(podSandboxId),
    killContainerProcess: async (containerId) => runtime.exitContainer(containerId, 137),
    reboot: async () => runtime.reboot(),
    close: async () => {
      await runtime.close();
      rmSync(logRoot, { recursive: true });
    },
  };
});
