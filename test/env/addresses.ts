/** The machine's own address and its free ports: servers of tests are reached from pods, so they are not on loopback. */
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { networkInterfaces } from 'node:os';

/** The machine's own address; pods and nodes must not be on loopback. */
export function machineAddress(): string {
  const found = Object.entries(networkInterfaces())
    // The bridges of pod networks come and go.
    .filter(([name]) => !name.startsWith('nodelet-'))
    .flatMap(([, addresses]) => addresses ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal);
  if (found === undefined) throw new Error('this machine has no network address but loopback');
  return found.address;
}

/** Below those that the kernel gives to outgoing connections, any of which may take one before its server does. */
const ports = { first: 20_000, count: 12_000 };
const attempts = 100;

/** A port that nobody uses now, by chance, so that test files that run at the same time hardly choose the same. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const port = ports.first + randomInt(ports.count);
    if (await isFree(port)) return port;
  }
  throw new Error('no free port');
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error) => {
      if ('code' in error && error.code === 'EADDRINUSE') resolve(false);
      else reject(error);
    });
    // On all addresses: servers listen on the machine's own, on loopback or on any.
    server.listen(port, () => server.close(() => resolve(true)));
  });
}
