import { once } from 'node:events';
import { request } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { systemClock } from '../async/index.js';
import { listen, type ServerListener } from '../server/listen.js';
import { plainError, type RouteResponse, type StreamedBody } from '../server/responses.js';
import { Timeline } from '../timeline/index.js';
import { overWebSocket } from './log-over-websocket.js';

const listeners: ServerListener[] = [];
afterEach(async () => {
  for (const listener of listeners.splice(0)) await listener.close();
});

async function serve(response: RouteResponse): Promise<number> {
  const listener = await listen(
    [
      {
        kind: 'template',
        path: '/log',
        templates: [[]],
        methods: ['GET'],
        handle: (asked) => overWebSocket(asked, response, systemClock),
      },
    ],
    {
      name: 'api',
      address: '127.0.0.1',
      port: 0,
      timeline: new Timeline({ clock: systemClock }),
      clock: systemClock,
    },
  );
  listeners.push(listener);
  return listener.address()?.port ?? 0;
}

function streamed(stream: StreamedBody['stream']): RouteResponse {
  return {
    status: 200,
    headers: {},
    body: { stream, headAtOnce: true, failed: () => plainError(500, 'it failed') },
  };
}

const twoLines = streamed(async (sink) => {
  await sink.write(Buffer.from('one\n'));
  await sink.write(Buffer.from('two\n'));
});

interface Heard {
  readonly protocol: string;
  readonly messages: readonly (readonly [text: string, isBinary: boolean])[];
  readonly closeCode: number;
}

async function hear(port: number, protocols: readonly string[]): Promise<Heard> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/log`, [...protocols]);
  const messages: [string, boolean][] = [];
  socket.on('message', (data: Buffer, isBinary: boolean) => messages.push([data.toString(), isBinary]));
  const [closeCode] = (await once(socket, 'close')) as [number];
  return { protocol: socket.protocol, messages, closeCode };
}

describe('a streamed body for a WebSocket client', () => {
  it.each([
    ['without a protocol, as bytes', [], '', true],
    ['as bytes', ['binary.k8s.io'], 'binary.k8s.io', true],
    ['as base64', ['base64.binary.k8s.io'], 'base64.binary.k8s.io', false],
  ])('comes in messages %s, and the connection ends in order', async (_how, offered, protocol, isBinary) => {
    const written = (text: string) => (isBinary ? text : Buffer.from(text).toString('base64'));
    expect(await hear(await serve(twoLines), offered)).toEqual({
      protocol,
      messages: [
        [written('one\n'), isBinary],
        [written('two\n'), isBinary],
      ],
      closeCode: 1000,
    });
  });

  it('stops when the client leaves', async () => {
    let stopped: (() => void) | undefined;
    const hasStopped = new Promise<void>((resolve) => {
      stopped = resolve;
    });
    const port = await serve(
      streamed(async (sink, signal) => {
        await sink.write(Buffer.from('one\n'));
        if (!signal.aborted) await once(signal, 'abort');
        stopped?.();
      }),
    );
    const socket = new WebSocket(`ws://127.0.0.1:${port}/log`, ['binary.k8s.io']);
    await once(socket, 'message');
    socket.close();
    await once(socket, 'close');
    await hasStopped;
  });

  it('is refused for a protocol that is not known', async () => {
    const socket = new WebSocket(`ws://127.0.0.1:${await serve(twoLines)}/log`, ['v9.unknown.k8s.io']);
    const [error] = (await once(socket, 'error').catch((thrown: unknown) => [thrown])) as [Error];
    expect(error.message).toContain('403');
  });

  it('is an error like any other when there is no body to stream', async () => {
    const port = await serve(plainError(404, 'no such pod'));
    const socket = new WebSocket(`ws://127.0.0.1:${port}/log`, ['binary.k8s.io']);
    const [error] = (await once(socket, 'error').catch((thrown: unknown) => [thrown])) as [Error];
    expect(error.message).toContain('404');
  });

  it('is a plain body for all others', async () => {
    const asked = request({ port: await serve(twoLines), path: '/log' }).end();
    const [response] = await once(asked, 'response');
    let text = '';
    for await (const chunk of response) text += String(chunk);
    expect(text).toBe('one\ntwo\n');
  });
});
