/** Why there is no terminal, in a form that the page can read: browsers keep the answer to a refused WebSocket to themselves. */
import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import { type RouteResponse, text } from '../server/responses.js';
import { decideHandshake } from '../streaming/handshake.js';
import { CloseCode, closePayload, encodeFrame, Opcode } from '../streaming/websocket/frames.js';
import { refusalWords } from './refusal-words.js';

/** The channel of Kubernetes that tells how a command ended. */
const statusChannel = 3;

/** Opens the WebSocket for one message, the status of a command that has failed before it began. */
export function refusedTerminal(headers: IncomingHttpHeaders, refusal: RouteResponse): RouteResponse {
  const handshake = decideHandshake({ method: 'GET', headers }, 'command');
  if (handshake.kind !== 'websocket') return refusal;
  const words = refusalWords(typeof refusal.body === 'string' ? refusal.body : '');
  const status = {
    kind: 'Status',
    status: 'Failure',
    code: refusal.status,
    message: words === '' ? `refused with status ${refusal.status}` : words,
  };
  const message = Buffer.concat([Buffer.from([statusChannel]), Buffer.from(JSON.stringify(status))]);
  const head = handshake.headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const answer = Buffer.concat([
    Buffer.from(`HTTP/1.1 101 Switching Protocols\r\n${head}\r\n`),
    ...encodeFrame(Opcode.binary, message),
    ...encodeFrame(Opcode.close, closePayload(CloseCode.normal)),
  ]);
  return {
    ...text(101, ''),
    body: {
      async takeOver(client) {
        const closed = once(client, 'close');
        client.on('error', () => client.destroy()).resume();
        client.end(answer);
        await closed;
      },
    },
  };
}
