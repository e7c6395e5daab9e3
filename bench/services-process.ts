/** A process of the bench of Services: `backend ADDRESS PORT` answers what it gets, `proxy ADDRESS PORT` is before it. */
import { createServer } from 'node:net';
import { systemClock } from '../src/async/index.js';
import { Connections } from '../src/services/proxy/connections.js';
import { TcpFrontend } from '../src/services/proxy/tcp-frontend.js';

const [role, address = '', port = '', backendAddress = ''] = process.argv.slice(2);
if (role === 'backend') {
  const server = createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => undefined);
    socket.pipe(socket);
  });
  server.listen(Number(port), address, () => console.log('ready'));
} else {
  const frontend = new TcpFrontend({ clock: systemClock, connections: new Connections() });
  const backends = [{ address: backendAddress, port: Number(port) }];
  const wanted = {
    key: '',
    protocol: 'TCP',
    address,
    port: Number(port),
    service: 'bench/web',
    isNodePort: false,
    backends,
    affinityMs: 0,
  } as const;
  frontend.set(wanted);
  await frontend.open(wanted, () => undefined);
  console.log('ready');
}
process.stdin.on('end', () => process.exit()).resume();
