/** Finds a port of the loopback address that nobody listens at. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { StartFailure } from '../../../agent/index.js';

export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string')
    throw new StartFailure('this machine has no free port');
  return address.port;
}
