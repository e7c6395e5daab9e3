/** For tests: a kubelet with one pod `web` of a container `app`, served on a local port. */
import { once } from 'node:events';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { systemClock } from '../../async/index.js';
import { CriError, type ObservedPod, unimplementedCriRuntime } from '../../cri/index.js';
import type { Pod } from '../../kube/index.js';
import { Timeline } from '../../timeline/index.js';
import { type ListenOptions, listen, type ServerListener } from '../listen.js';
import { type ApiKubelet, type ApiOptions, podRoutes } from './index.js';

export const webPod: Pod = {
  metadata: { name: 'web', namespace: 'default', uid: 'uid-1' },
  spec: { containers: [{ name: 'app', tty: true }, { name: 'stopped' }], initContainers: [{ name: 'init' }] },
  status: {
    containerStatuses: [
      {
        name: 'app',
        image: '',
        imageID: '',
        ready: true,
        restartCount: 0,
        containerID: 'sim://c1',
        state: { running: {} },
      },
      {
        name: 'stopped',
        image: '',
        imageID: '',
        ready: false,
        restartCount: 0,
        state: { waiting: { reason: 'ImagePullBackOff' } },
      },
    ],
  },
};

const observed: ObservedPod = {
  uid: 'uid-1',
  name: 'web',
  namespace: 'default',
  observedAtMs: 0,
  sandboxes: [{ id: 's1', state: 'running', attempt: 0, createdAtNs: 0n }],
  containers: [
    {
      id: 'c1',
      name: 'app',
      sandboxId: 's1',
      state: 'running',
      image: '',
      imageId: '',
      hash: '',
      createdAtNs: 0n,
    },
  ],
};

export function testKubelet(runtime: Partial<ApiKubelet['runtime']> = {}): ApiKubelet {
  return {
    pods: () => [webPod],
    runningPods: async () => [observed],
    runtime: { ...unimplementedCriRuntime(), ...runtime },
    clock: systemClock,
    timeline: new Timeline(),
  };
}

export function failing(code: 'NotFound' | 'ResourceExhausted' | 'InvalidArgument', details: string) {
  return () => Promise.reject(new CriError(code, details));
}

export async function serveApi(
  kubelet: ApiKubelet,
  options: ApiOptions = {},
  limits: ListenOptions['limits'] = {},
): Promise<ServerListener & { readonly port: number }> {
  const listener = await listen(podRoutes(kubelet, options), {
    name: 'healthz',
    address: '127.0.0.1',
    port: 0,
    timeline: new Timeline(),
    limits,
  });
  const port = listener.address()?.port;
  if (port === undefined) throw new Error('it does not listen');
  return { address: () => listener.address(), close: () => listener.close(), port };
}

export function ask(
  port: number,
  target: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: string; headers: IncomingHttpHeaders }> {
  const [method = '', path = ''] = target.split(' ');
  return new Promise((resolve, reject) => {
    const call = httpRequest({ host: '127.0.0.1', port, method, path, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          body: Buffer.concat(chunks).toString(),
          headers: response.headers,
        }),
      );
      response.on('error', reject);
    });
    call.on('error', reject);
    call.end();
  });
}

export interface RawServer {
  readonly url: string;
  readonly sockets: Socket[];
  close(): Promise<void>;
}

/** A raw byte server that plays the runtime's streaming server. */
export async function rawServer(onSocket: (socket: Socket) => void): Promise<RawServer> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
    onSocket(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/exec/Token123?x=1`,
    sockets,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
