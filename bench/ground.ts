/** What benches on a real runtime stand on: a private containerd, a client of it and a directory, gone when they end. */
import { type CriClient, connectCri } from '../src/cri/index.js';
import { CleanupStack, createTempDir, startContainerd, type TestContainerd } from '../test/env/index.js';

export interface BenchGround {
  readonly containerd: TestContainerd;
  readonly cri: CriClient;
  /** An empty directory. */
  readonly dir: string;
}

export async function onContainerd<T>(work: (ground: BenchGround) => Promise<T>): Promise<T> {
  const cleanups = new CleanupStack();
  try {
    const { path: dir } = await createTempDir('bench', { cleanups });
    const containerd = await startContainerd({ cleanups });
    const cri = connectCri({ endpoint: containerd.endpoint, requestTimeoutMs: 120_000 });
    cleanups.defer('the CRI client', async () => cri.close());
    return await work({ containerd, cri, dir });
  } finally {
    await cleanups.run();
  }
}
