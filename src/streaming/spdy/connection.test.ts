import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { buffer, text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { systemClock, VirtualClock } from '../../async/index.js';
import { socketPair, spdyPair } from '../test-sockets.js';
import { SpdyConnection } from './connection.js';
import { dataFrame, synStreamFrame } from './frames.js';
import { HeaderBlockWriter } from './header-blocks.js';
import { type SpdyStream, streamWindowBytes } from './stream.js';

const named = (name: string): Map<string, string> => new Map([['name', name]]);
const echo = (stream: SpdyStream): void => {
  stream.accept();
  stream.pipe(stream);
};
const nothing = Buffer.alloc(0);

describe('streams', () => {
  it('carry data both ways and end each way independently', async () => {
    const { client, server } = await spdyPair((stream) => {
      stream.accept();
      // Answers only after the client has closed its side.
      text(stream.iterator({ destroyOnReturn: false })).then((got) => stream.end(`got ${got}`));
    });
    const stream = await client.open(named('a'));
    stream.end('hello');
    expect(await text(stream)).toBe('got hello');
    await client.close();
    await server.closed;
    expect(client.problem).toBeUndefined();
    expect(server.problem).toBeUndefined();
  });

  it('may be a hundred at a time, each with its own bytes', async () => {
    const { client } = await spdyPair(echo);
    const sent = Array.from({ length: 100 }, (_, index) => randomBytes(1000 + index * 997));
    const got = await Promise.all(
      sent.map(async (bytes, index) => {
        const stream = await client.open(named(String(index)));
        stream.end(bytes);
        return buffer(stream);
      }),
    );
    expect(got.every((bytes, index) => bytes.equals(sent[index]!))).toBe(true);
    await expect.poll(() => client.streamCount).toBe(0);
    await client.close();
  });

  it('that the server refuses reject', async () => {
    const { client } = await spdyPair((stream) => stream.refuse());
    await expect(client.open(named('a'))).rejects.toThrow(/reset the stream \(status 3\)/);
    await client.close();
  });

  it('that are destroyed are reset at the peer, and others go on', async () => {
    const seen: SpdyStream[] = [];
    const { client } = await spdyPair((stream) => {
      seen.push(stream);
      echo(stream);
    });
    const cut = await client.open(named('cut'));
    const kept = await client.open(named('kept'));
    cut.destroy();
    await expect.poll(() => seen[0]?.resetBy?.message).toMatch(/status 5/);
    kept.end('still here');
    expect(await text(kept)).toBe('still here');
    await client.close();
  });

  it('deliver the data that arrived before a reset', async () => {
    const { client } = await spdyPair((stream) => {
      stream.accept();
      stream.write('last words', () => stream.destroy());
    });
    const stream = await client.open(named('a'));
    await expect.poll(() => stream.resetBy).toBeDefined();
    expect(await text(stream)).toBe('last words');
    await client.close();
  });
});

describe('a slow reader', () => {
  it('blocks only its own stream when the peer obeys flow control, with bounded memory', async () => {
    const { client, server } = await spdyPair((stream) => {
      stream.accept();
      if (stream.headers.get('name') !== 'slow') stream.pipe(stream);
    });
    const slow = await client.open(named('slow'));
    let accepted = 0;
    const chunk = Buffer.alloc(64 * 1024);
    const writing = (async () => {
      for (let index = 0; index < 160; index++) {
        if (!slow.write(chunk)) await once(slow, 'drain');
        accepted += chunk.length;
      }
    })();
    writing.catch(() => {});
    const quick = await client.open(named('quick'));
    quick.end('hello');
    expect(await text(quick)).toBe('hello');
    await sleep(200);
    expect(accepted).toBeLessThanOrEqual(streamWindowBytes + 4 * chunk.length);
    expect(server.bufferedBytes).toBeLessThanOrEqual(streamWindowBytes + chunk.length);
    expect(client.bufferedBytes).toBeLessThanOrEqual(4 * chunk.length);
    await client.close();
  });

  it('blocks the connection when the peer ignores flow control, with bounded memory', async () => {
    const { client, server: socket } = await socketPair();
    let stream: SpdyStream | undefined;
    const server = new SpdyConnection({
      socket,
      head: nothing,
      role: 'server',
      clock: systemClock,
      onStream: (opened) => {
        opened.accept();
        stream = opened;
      },
    });
    client.on('data', () => {});
    client.write(synStreamFrame(1, new HeaderBlockWriter().write(named('raw')), false));
    const frame = Buffer.concat(dataFrame(1, Buffer.alloc(64 * 1024, 'x'), false));
    for (let index = 0; index < 512; index++) client.write(frame);
    client.write(Buffer.concat(dataFrame(1, nothing, true)));
    await sleep(300);
    expect(server.bufferedBytes).toBeLessThanOrEqual(2 * streamWindowBytes);
    // No data was lost.
    expect((await buffer(stream!)).length).toBe(512 * 64 * 1024);
    client.destroy();
    await server.closed;
  });
});

describe('the connection', () => {
  it('answers pings', async () => {
    const { client, server } = await spdyPair(echo);
    await client.ping();
    await server.ping();
    await client.close();
  });

  it('ends streams and openings with the reason when it is lost', async () => {
    const sockets = await socketPair();
    const client = new SpdyConnection({
      socket: sockets.client,
      head: nothing,
      role: 'client',
      clock: systemClock,
    });
    const opening = client.open(named('never'));
    sockets.server.resetAndDestroy();
    await expect(opening).rejects.toThrow(/the connection was/);
    await client.closed;
    await expect(client.open(named('late'))).rejects.toThrow(/the connection was/);
    await expect(client.ping()).rejects.toThrow(/the connection was/);
  });

  it('ends with a clear error when the peer speaks another protocol', async () => {
    const sockets = await socketPair();
    const server = new SpdyConnection({
      socket: sockets.server,
      head: nothing,
      role: 'server',
      clock: systemClock,
      onStream: echo,
    });
    sockets.client.on('error', () => {});
    sockets.client.write('\x80GET / HTTP/1.1\r\n\r\n');
    await server.closed;
    expect(server.problem?.name).toBe('SpdyProtocolError');
  });

  it('reads the bytes that followed the upgrade', async () => {
    const sockets = await socketPair();
    const opened: string[] = [];
    const server = new SpdyConnection({
      socket: sockets.server,
      head: synStreamFrame(1, new HeaderBlockWriter().write(named('early')), false),
      role: 'server',
      clock: systemClock,
      onStream: (stream) => {
        stream.accept();
        opened.push(stream.headers.get('name') ?? '');
      },
    });
    await expect.poll(() => opened).toEqual(['early']);
    sockets.client.destroy();
    await server.closed;
  });

  it('refuses streams whose ids do not increase', async () => {
    const sockets = await socketPair();
    let opened = 0;
    const server = new SpdyConnection({
      socket: sockets.server,
      head: nothing,
      role: 'server',
      clock: systemClock,
      onStream: (stream) => {
        opened++;
        stream.accept();
      },
    });
    const blocks = new HeaderBlockWriter();
    const client = new SpdyConnection({
      socket: sockets.client,
      head: nothing,
      role: 'client',
      clock: systemClock,
    });
    for (const id of [5, 3, 5, 2]) sockets.client.write(synStreamFrame(id, blocks.write(named('x')), false));
    await client.ping();
    expect(opened).toBe(1);
    await client.close();
    await server.closed;
  });

  it('ends when it is idle for too long', async () => {
    const clock = new VirtualClock();
    const sockets = await socketPair();
    const common = { head: nothing, clock };
    const client = new SpdyConnection({ ...common, socket: sockets.client, role: 'client' });
    const server = new SpdyConnection({
      ...common,
      socket: sockets.server,
      role: 'server',
      idleTimeoutMs: 1000,
    });
    await client.ping();
    await clock.advance(999);
    await server.ping();
    await clock.advance(999);
    expect(server.problem).toBeUndefined();
    await clock.advance(1000);
    await server.closed;
    expect(server.problem?.message).toMatch(/the connection was idle for 1 s/);
    await client.closed;
  });
});
