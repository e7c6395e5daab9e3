/** The other end of a D-Bus connection, for tests: accepts clients and says what the test wants, right or wrong. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DbusMessage, DbusMessageReader, encodeMessage, type OutgoingMessage } from './message.js';

export type PeerMessage = Omit<OutgoingMessage, 'serial'>;

export interface PeerClient {
  readonly socket: Socket;
  /** Every message of the client, as `member` or its kind. */
  readonly heard: string[];
  send(message: PeerMessage): void;
  reply(to: DbusMessage, reply?: Omit<PeerMessage, 'kind'>): void;
  refuse(to: DbusMessage, errorName: string, text: string): void;
}

export interface TestPeerOptions {
  /** What the peer answers to each line of the authentication; default: it accepts the first. */
  readonly auth?: (line: string) => string | undefined;
  readonly onMessage?: (message: DbusMessage, client: PeerClient) => void;
}

export interface TestPeer {
  readonly socketPath: string;
  readonly clients: PeerClient[];
  /** The lines of the authentication that clients sent. */
  readonly lines: string[];
  close(): Promise<void>;
}

export async function startTestPeer(options: TestPeerOptions = {}): Promise<TestPeer> {
  const dir = mkdtempSync(join(tmpdir(), 'dbus-peer-'));
  const socketPath = join(dir, 'bus');
  const clients: PeerClient[] = [];
  const lines: string[] = [];
  const server = createServer((socket) => {
    let serial = 0;
    const client: PeerClient = {
      socket,
      heard: [],
      send: (message) => {
        serial += 1;
        socket.write(encodeMessage({ ...message, serial }));
      },
      reply: (to, reply = {}) => client.send({ kind: 'reply', replySerial: to.serial, ...reply }),
      refuse: (to, errorName, text) =>
        client.send({ kind: 'error', errorName, replySerial: to.serial, signature: 's', body: [text] }),
    };
    clients.push(client);
    converse(socket, client, lines, options);
  });
  server.listen(socketPath);
  await once(server, 'listening');
  return {
    socketPath,
    clients,
    lines,
    close: async () => {
      server.close();
      for (const { socket } of clients) socket.destroy();
      await once(server, 'close');
      rmSync(dir, { recursive: true });
    },
  };
}

function converse(socket: Socket, client: PeerClient, lines: string[], options: TestPeerOptions): void {
  const { auth = () => 'OK 00112233445566778899aabbccddeeff', onMessage } = options;
  let text = '';
  let reader: DbusMessageReader | undefined;
  socket.on('error', () => undefined);
  socket.on('data', (chunk) => {
    let bytes = chunk;
    if (reader === undefined) {
      text += chunk.toString('latin1');
      for (let end = text.indexOf('\r\n'); end >= 0 && reader === undefined; end = text.indexOf('\r\n')) {
        const line = text.slice(0, end).replace('\0', '');
        text = text.slice(end + 2);
        lines.push(line);
        if (line === 'BEGIN') reader = new DbusMessageReader();
        else {
          const answer = auth(line);
          if (answer !== undefined) socket.write(`${answer}\r\n`);
        }
      }
      bytes = Buffer.from(text, 'latin1');
    }
    if (reader === undefined) return;
    for (const message of reader.read(bytes)) {
      client.heard.push(message.member ?? message.kind);
      onMessage?.(message, client);
    }
  });
}
