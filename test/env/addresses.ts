/** The machine's own address and its free ports: servers of tests are reached from pods, so they are not on loopback. */
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

/** A port that nobody uses now. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, machineAddress(), resolve));
  const address = server.address();
  await new Promise<void>((resolve) => server.close(() => resolve()));
  if (address === null || typeof address === 'string') throw new Error('no free port');
  return address.port;
}
