/** What benches on a real runtime stand on: a private containerd, a client of it and a folder, gone when they end. */
import { createServer } from 'node:net';
import { type CriClient, connectCri } from '../src/cri/index.js';
import { CleanupStack, createTempDir, startContainerd, type TestContainerd } from '../test/env/index.js';

export interface StartContext {
  readonly containerd: TestContainerd;
  readonly cri: CriClient;
  /** An empty folder. */
  readonly dir: string;
}

export async function onContainerd<T>(work: (ground: StartContext) => Promise<T>): Promise<T> {
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

/** A port of loopback that nobody has at this moment. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => {
        if (typeof address === 'object' && address !== null) resolve(address.port);
        else reject(new Error('no port was given'));
      });
    });
  });
}
