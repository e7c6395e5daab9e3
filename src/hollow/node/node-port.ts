/** The port of one hollow node: takes connections at once, and makes the server behind it when the first one comes. */
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { errorText } from '../../async/index.js';
import type { ServerListener } from '../../server/index.js';

/** Starts the kubelet API on a server that listens nowhere; `take` gives it connections. */
export type StartNodeServer = (bind: (server: Server) => Promise<void>) => Promise<ServerListener>;

interface Serving {
  readonly listener: ServerListener;
  readonly server: Server;
}

export class NodePort {
  readonly address: string;
  readonly #listener: Server;
  readonly #onProblem: (message: string) => void;
  readonly #sockets = new Set<Socket>();
  #start: StartNodeServer | undefined;
  /** Made with the first connection: most nodes of a test are never asked anything. */
  #serving: Promise<Serving> | undefined;

  private constructor(address: string, onProblem: (message: string) => void) {
    this.address = address;
    this.#onProblem = onProblem;
    this.#listener = createServer({ keepAlive: true }, (socket) => void this.#take(socket));
  }

  /** Port 0: any free one. */
  static async open(
    { address, port }: { readonly address: string; readonly port: number },
    onProblem: (message: string) => void,
  ): Promise<NodePort> {
    const opened = new NodePort(address, onProblem);
    opened.#listener.listen(port, address);
    await once(opened.#listener, 'listening');
    return opened;
  }

  get port(): number {
    const bound = this.#listener.address();
    return typeof bound === 'object' && bound !== null ? bound.port : 0;
  }

  /** Answers from now on. */
  serve(start: StartNodeServer): void {
    this.#start = start;
  }

  /** Hangs up on everybody; the port stays taken, so that the node has it again later. */
  async silence(): Promise<void> {
    this.#start = undefined;
    const serving = this.#serving;
    this.#serving = undefined;
    for (const socket of this.#sockets) socket.destroy();
    await serving?.then(({ listener }) => listener.close()).catch(() => undefined);
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#listener.close(() => resolve()));
    await this.silence();
    await closed;
  }

  async #take(socket: Socket): Promise<void> {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    // Until a server has it, nobody else listens for its errors.
    const onError = (): void => void socket.destroy();
    socket.on('error', onError);
    const start = this.#start;
    if (start === undefined) {
      socket.destroy();
      return;
    }
    try {
      this.#serving ??= made(start);
      const { server } = await this.#serving;
      socket.off('error', onError);
      if (!socket.destroyed) server.emit('connection', socket);
    } catch (error) {
      this.#serving = undefined;
      socket.destroy();
      this.#onProblem(`the kubelet API cannot be served: ${errorText(error)}`);
    }
  }
}

async function made(start: StartNodeServer): Promise<Serving> {
  let server: Server | undefined;
  const listener = await start(async (given) => {
    server = given;
  });
  if (server === undefined) throw new Error('the server was never bound');
  return { listener, server };
}
