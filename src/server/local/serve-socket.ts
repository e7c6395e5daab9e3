/** Serves requests and JSON answers to programs of the same user on a unix socket. */
import { lstat } from 'node:fs/promises';
import { errorText, systemClock } from '../../async/index.js';
import { type ServeOptions, type ServerListener, serve } from '../listen.js';
import { json, plainError } from '../responses.js';
import type { Route } from '../routes.js';
import { bindSocket, unlinkSocket } from './socket.js';

export interface SocketRoute {
  readonly method: 'GET' | 'POST';
  readonly path: `/${string}`;
  /** What is sent as JSON; an error is sent as its text, with status 400. */
  readonly answer: (body: string) => unknown;
}

export interface ServeSocketOptions extends Pick<ServeOptions, 'timeline' | 'clock' | 'limits'> {
  /** A missing directory is created, for this user alone. */
  readonly socketPath: string;
}

/** Rejects when another process listens on the socket. Whoever can open the socket may do everything. */
export function serveSocket(
  routes: readonly SocketRoute[],
  options: ServeSocketOptions,
): Promise<ServerListener> {
  return serveRoutesOnSocket(
    routes.map(
      ({ method, path, answer }): Route => ({
        kind: 'resource',
        path,
        methods: [method],
        produces: 'application/json',
        handle: async ({ readBody }) => {
          try {
            return json(await answer((await readBody?.())?.toString('utf8') ?? ''));
          } catch (error) {
            return plainError(400, errorText(error));
          }
        },
      }),
    ),
    options,
  );
}

/** The same for routes of any kind. */
export async function serveRoutesOnSocket(
  routes: readonly Route[],
  { socketPath, timeline, clock = systemClock, limits = {} }: ServeSocketOptions,
): Promise<ServerListener> {
  const listener = await serve(
    routes,
    { name: 'local', timeline, clock, limits },
    { text: socketPath, bind: (server) => bindSocket(server, socketPath) },
  );
  const { ino } = await lstat(socketPath);
  return {
    address: () => listener.address(),
    async close() {
      // Unlink first, so that a new server may take the name while old responses finish.
      await unlinkSocket(socketPath, ino);
      await listener.close();
    },
  };
}
