/** Speaks to the API of a bare node as its owner or as anybody else, byte by byte if a test wants to. */
import { readFileSync } from 'node:fs';
import type { OutgoingHttpHeaders } from 'node:http';
import { request } from 'node:https';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { parse } from 'yaml';
import type { BareNode } from './bare-node.js';

export interface ApiAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

export interface ApiAskOptions {
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | Buffer;
  /** Of a service account, in place of the owner's certificate. */
  readonly token?: string;
}

export class BareNodePort {
  readonly #place: { readonly host: string; readonly port: number; readonly ca: Buffer };
  readonly #owner: { readonly cert: Buffer; readonly key: Buffer };

  constructor(node: BareNode) {
    const config = parse(readFileSync(node.kubeconfig, 'utf8'));
    const { cluster } = config.clusters[0];
    const { user } = config.users[0];
    const bytes = (text: string): Buffer => Buffer.from(text, 'base64');
    const { hostname, port } = new URL(cluster.server);
    this.#place = { host: hostname, port: Number(port), ca: bytes(cluster['certificate-authority-data']) };
    this.#owner = { cert: bytes(user['client-certificate-data']), key: bytes(user['client-key-data']) };
  }

  /** One request on a connection of its own. */
  ask(path: string, { method = 'GET', headers = {}, body, token }: ApiAskOptions = {}): Promise<ApiAnswer> {
    return new Promise((resolve, reject) => {
      const asking = request(
        {
          ...this.#place,
          ...(token === undefined ? this.#owner : {}),
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

  /** JSON to a path; the answer's status. */
  async write(method: string, path: string, object: unknown, type = 'application/json'): Promise<ApiAnswer> {
    return this.ask(path, { method, headers: { 'content-type': type }, body: JSON.stringify(object) });
  }

  /** A connection after its handshake; errors on it are the test's to expect. */
  connect(token?: string): Promise<TLSSocket> {
    return new Promise((resolve, reject) => {
      const socket = connect({ ...this.#place, ...(token === undefined ? this.#owner : {}) }, () =>
        resolve(socket),
      );
      socket.once('error', reject).on('error', () => {});
    });
  }

  /** A connection without a handshake. */
  connectPlain(): Socket {
    const { host, port } = this.#place;
    return connectTcp(port, host).on('error', () => {});
  }

  /** Opens a request whose answer is not read. */
  async unread(path: string, token?: string): Promise<TLSSocket> {
    const socket = await this.connect(token);
    socket.pause();
    const credentials = token === undefined ? '' : `Authorization: Bearer ${token}\r\n`;
    socket.write(`GET ${path} HTTP/1.1\r\nHost: node\r\n${credentials}\r\n`);
    return socket;
  }

  /** All that comes back for these bytes, up to a time. */
  async say(bytes: string, limitMs = 15_000): Promise<string> {
    const socket = await this.connect();
    let heard = '';
    socket.on('data', (chunk: Buffer) => {
      heard += chunk.toString('latin1');
    });
    const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    socket.write(bytes);
    const limit = setTimeout(() => socket.destroy(), limitMs);
    await ended;
    clearTimeout(limit);
    return heard;
  }
}

/** Resident memory of a process. */
export function rssBytes(pid: number): number {
  const [, kilobytes = '0'] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) * 1024;
}
