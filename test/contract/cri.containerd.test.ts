/** A real containerd holds the CRI contract through the gRPC client. */
import { connectCri, isUnimplemented } from '../../src/cri/index.js';
import { CleanupStack, createTempDir, startContainerd, testImages } from '../env/index.js';
import { describeCriContract } from './cri-contract.js';

describeCriContract('containerd', async () => {
  const cleanups = new CleanupStack();
  const containerd = await startContainerd({ cleanups });
  const logs = await createTempDir('logs', { cleanups });
  const runtime = connectCri({ endpoint: containerd.endpoint, requestTimeoutMs: 120_000 });
  cleanups.defer('the CRI client', async () => runtime.close());
  return {
    runtime,
    image: testImages.busybox,
    missingImage: '127.0.0.1:9/nosuchimage:1',
    notResolved: containerd.release === 'newer' ? 'failed to resolve image' : 'failed to resolve reference',
    logRoot: logs.path,
    podNetwork: true,
    containerEvents: await hasEvents(runtime),
    cgroupParent: containerd.cgroupParent,
    memoryLimits: true,
    terminals: true,
    echoServer: (port) => ({ command: ['nc', '-ll', '-p', String(port), '-e', 'cat'] }),
    killSandboxProcess: async (podSandboxId) =>
      killProcess(await runtime.podSandboxStatus({ podSandboxId, verbose: true })),
    killContainerProcess: async (containerId) =>
      killProcess(await runtime.containerStatus({ containerId, verbose: true })),
    reboot: () => containerd.wipeState(),
    close: () => cleanups.run(),
  };
});

/** Ends the process that a verbose status of containerd names. */
function killProcess({ info }: { readonly info: Readonly<Record<string, string>> }): void {
  const { pid }: { pid: number } = JSON.parse(info.info ?? '{}');
  process.kill(pid, 'SIGKILL');
}

/** containerd has container events from 1.7 on. */
async function hasEvents(runtime: ReturnType<typeof connectCri>): Promise<boolean> {
  try {
    for await (const _ of runtime.getContainerEvents({}, { timeoutMs: 1000 })) return true;
  } catch (error) {
    return !isUnimplemented(error);
  }
  return true;
}
