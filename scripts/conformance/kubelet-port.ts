/** The port that some specs expect a kubelet at, whatever the Node says. */
import { createServer } from 'node:net';

const port = 10250;

/** `undefined` when something else listens there. */
export function usualKubeletPort(address: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen(port, address, () => server.close(() => resolve(port)));
  });
}
