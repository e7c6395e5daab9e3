/** The simulated runtime holds the CRI contract. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SimRuntime } from '../../src/runtimes/sim/index.js';
import { describeCriContract } from './cri-contract.js';

describeCriContract('simulated', async () => {
  const logRoot = mkdtempSync(join(tmpdir(), 'nodelet-contract-'));
  const image = 'contract.test/busybox:1';
  const runtime = new SimRuntime({ images: [{ name: image, present: true }], logRoot });
  return {
    runtime,
    image,
    missingImage: 'contract.test/nosuchimage:1',
    logRoot,
    podNetwork: true,
    containerEvents: true,
    memoryLimits: true,
    killSandboxProcess: async (podSandboxId) => runtime.killSandbox(podSandboxId),
    killContainerProcess: async (containerId) => runtime.exitContainer(containerId, 137),
    reboot: async () => runtime.reboot(),
    close: async () => {
      runtime.close();
      rmSync(logRoot, { recursive: true });
    },
  };
});
