/** Speaks to a node's own port as any client on the network can, with whatever credentials a test gives it. */
import type { OutgoingHttpHeaders } from 'node:http';
import { request } from 'node:https';
import { connect, type TLSSocket } from 'node:tls';
import type { IssuedPair } from '../env/control-plane-pki.js';
import type { Cluster } from './cluster.js';

export interface AskOptions {
  readonly certificate?: IssuedPair;
  readonly token?: string;
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | Buffer;
}

export interface PortAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** One request on a connection of its own. */
export function ask(cluster: Cluster, path: string, options: AskOptions = {}): Promise<PortAnswer> {
  const { certificate, token, method = 'GET', headers = {}, body } = options;
  return new Promise((resolve, reject) => {
    const asking = request(
      {
        ...place(cluster),
        ...credentials(certificate),
        path,
        method,
        agent: false,
        headers: {
          connection: 'close',
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...headers,
        },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(chunks).toString(),
          }),
        );
      },
    );
    asking.setTimeout(60_000, () => asking.destroy(new Error(`no answer to ${method} ${path}`)));
    asking.on('error', reject);
    asking.end(body);
  });
}

/** A connection after its handshake, to say on it what no HTTP client would. */
export function connectPort(cluster: Cluster, certificate?: IssuedPair): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ ...place(cluster), ...credentials(certificate) }, () => resolve(socket));
    socket.once('error', reject);
  });
}

/** Sends bytes and returns all that comes until the other side closes, or the time is up. */
export async function sayRaw(cluster: Cluster, bytes: string | Buffer, waitMs = 20_000): Promise<string> {
  const socket = await connectPort(cluster);
  let heard = '';
  socket.on('data', (chunk) => {
    heard += chunk.toString();
  });
  // Being cut off in the middle is one of the answers.
  socket.on('error', () => {});
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write(bytes);
  const timer = setTimeout(() => socket.destroy(), waitMs);
  await closed;
  clearTimeout(timer);
  return heard;
}

function place({ node, plane }: Cluster): { host: string; port: number; ca: string } {
  return { host: node.address, port: node.port, ca: plane.pki.authorityPem };
}

function credentials(pair: IssuedPair | undefined): { cert?: string; key?: string } {
  return pair === undefined ? {} : { cert: pair.certificatePem, key: pair.keyPem };
}
