/** `nodelet port-forward`: forwards ports of this machine to a pod. */

import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { type Duplex, finished, pipeline } from 'node:stream';
import { errorText } from '../async/error-text.js';
import { string } from '../flags/index.js';
import type { PortForward } from '../streaming/index.js';
import { type CommandSpec, namespaceFlag, runCommand, runFlags } from './client/command.js';
import { type Connection, connectTo } from './client/connection.js';
import { choosePod, listPods, podPath } from './client/pods.js';
import { CommandFailure, UsageError } from './client/usage-error.js';
import { endpointText, parseAddresses, parsePort } from './port-forward-ports.js';

const flags = {
  address: {
    type: string,
    valueName: 'ADDRESSES',
    about: 'addresses to listen on, separated by commas; localhost is 127.0.0.1 and ::1 (default localhost)',
  },
  ...namespaceFlag,
  ...runFlags,
} as const;

export const portForwardSpec: CommandSpec<typeof flags> = {
  name: 'port-forward',
  about: 'Forwards local ports to a pod until Ctrl-C.',
  synopsis: ['POD [LOCAL:]REMOTE… [flags]'],
  flags,
  examples: [
    ['nodelet port-forward web 8080:80', "forward port 8080 of this machine to the pod's port 80"],
    ['nodelet port-forward web 5000 6000', 'forward two ports, each to the same port of the pod'],
    ['nodelet port-forward web :80', 'forward any free port'],
    [
      'nodelet port-forward web 8080:http --address 0.0.0.0',
      'forward to a named port, and let other machines connect',
    ],
  ],
};

/** More connections than interactive tools open at a time. */
const maxConnections = 256;

export function runPortForward(argv: readonly string[]): Promise<number> {
  return runCommand(portForwardSpec, argv, async ({ values, positionals, rest }) => {
    const [podName, ...portTexts] = [...positionals, ...(rest ?? [])];
    if (podName === undefined || portTexts.length === 0)
      throw new UsageError('name a pod and at least one port: nodelet port-forward POD [LOCAL:]REMOTE');
    const addresses = parseAddresses(values.address ?? 'localhost');
    if (addresses.length === 0) throw new UsageError('--address needs at least one address');
    const connection = await connectTo(values);
    const pod = choosePod(await listPods(connection), { name: podName, namespace: values.namespace });
    const ports = portTexts.map((text) => parsePort(text, pod));
    if (pod.status?.phase !== 'Running')
      throw new CommandFailure(
        `unable to forward port because pod is not running. Current status=${pod.status?.phase ?? 'Unknown'}`,
      );
    const forward = await openForward(connection, podPath('portForward', pod));
    const servers: Server[] = [];
    try {
      for (const { local, remote } of ports) {
        let boundPort = local;
        let bound = 0;
        for (const { address, optional } of addresses) {
          try {
            const server = await listen(address, boundPort, (client, port) =>
              serve(forward, client, port, remote),
            );
            servers.push(server);
            boundPort = portOf(server);
            bound++;
            process.stdout.write(`Forwarding from ${endpointText(address, boundPort)} -> ${remote}\n`);
          } catch (error) {
            if (!optional || bound === 0) throw listenFailure(address, boundPort, error);
          }
        }
      }
      await forward.closed;
      throw new CommandFailure('lost connection to pod');
    } finally {
      for (const server of servers) server.close();
      await forward.close();
    }
  });
}

async function openForward(connection: Connection, path: string): Promise<PortForward> {
  const { openPortForward } = await import('../streaming/index.js');
  try {
    return await openPortForward({ target: { socketPath: connection.socketPath, path } });
  } catch (error) {
    throw new CommandFailure(errorText(error), { cause: error });
  }
}

async function listen(
  address: string,
  port: number,
  onClient: (client: Socket, port: number) => Promise<void>,
): Promise<Server> {
  // A client may close its sending side and still wait for the response.
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    void onClient(client, portOf(server));
  });
  server.maxConnections = maxConnections;
  server.listen({ host: address, port, exclusive: true });
  await once(server, 'listening');
  server.on('error', (error) => process.stderr.write(`nodelet port-forward: ${error.message}\n`));
  return server;
}

function portOf(server: Server): number {
  // The server listens on a port, never on a path.
  return (server.address() as AddressInfo).port;
}

/** Never rejects: an error closes only this connection. */
async function serve(forward: PortForward, client: Socket, port: number, remote: number): Promise<void> {
  process.stdout.write(`Handling connection for ${port}\n`);
  client.on('error', () => client.destroy());
  let stream: Duplex;
  try {
    stream = await forward.open(remote);
  } catch (error) {
    client.destroy();
    reportError(port, remote, error);
    return;
  }
  // Each direction ends on its own: a side may close its half and still receive.
  pipeline(client, stream, (error) => {
    if (error) stream.destroy();
  });
  pipeline(stream, client, () => {});
  finished(stream, (error) => {
    if (error && !isPeerGone(error)) reportError(port, remote, error);
    if (error) client.destroy();
  });
}

function isPeerGone(error: NodeJS.ErrnoException): boolean {
  return ['ERR_STREAM_PREMATURE_CLOSE', 'ECONNRESET', 'EPIPE'].includes(error.code ?? '');
}

function reportError(port: number, remote: number, error: unknown): void {
  process.stderr.write(`error forwarding ${port} -> ${remote}: ${errorText(error)}\n`);
}

function listenFailure(address: string, port: number, error: unknown): CommandFailure {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  const hint =
    code === 'EADDRINUSE' ? '; something listens there already: choose another port with LOCAL:REMOTE' : '';
  return new CommandFailure(
    `unable to listen on ${endpointText(address, port)}: ${errorText(error)}${hint}`,
    { cause: error },
  );
}
