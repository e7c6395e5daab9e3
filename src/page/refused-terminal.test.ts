import { Duplex } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { isTakenOver, text } from '../server/responses.js';
import { WebSocketFrameReader } from '../streaming/websocket/frames.js';
import { refusalWords } from './refusal-words.js';
import { refusedTerminal } from './refused-terminal.js';

const headers = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  'sec-websocket-version': '13',
  'sec-websocket-protocol': 'v5.channel.k8s.io, nodelet.key.x',
};

describe('refusalWords', () => {
  it.each([
    ['the words of a node', ' Forbidden\n', 'Forbidden'],
    ['the message of an API server', '{"kind":"Status","message":"no right"}', 'no right'],
    ['another object', '{"message":"no status"}', '{"message":"no status"}'],
    ['nothing', '', ''],
  ])('%s', (_, body, words) => {
    expect(refusalWords(body)).toBe(words);
  });
});

describe('refusedTerminal', () => {
  it('tells the reason as the status of a command, and ends', async () => {
    const { body } = refusedTerminal(headers, text(403, 'Forbidden (user=bob)'));
    if (!isTakenOver(body)) throw new Error('nothing was taken over');
    const sent: Buffer[] = [];
    const client = new Duplex({
      read() {},
      write(chunk: Buffer, _, done) {
        sent.push(chunk);
        done();
      },
      final(done) {
        done();
        this.destroy();
      },
    });
    await body.takeOver(client, Buffer.alloc(0));
    const all = Buffer.concat(sent);
    const end = all.indexOf('\r\n\r\n') + 4;
    expect(all.toString('latin1', 0, end)).toMatch(
      /^HTTP\/1\.1 101 .*Sec-WebSocket-Protocol: v5\.channel\.k8s\.io/s,
    );
    const frames = all.subarray(end);
    expect(frames.toString('latin1')).toContain('"status":"Failure"');
    expect(frames.toString('latin1')).toContain('Forbidden (user=bob)');
    // The last frame is a close.
    expect(frames.subarray(-4)).toEqual(Buffer.from([0x88, 2, 0x03, 0xe8]));
    expect([...new WebSocketFrameReader({ fromClient: false }).read(frames)].length).toBeGreaterThan(0);
  });

  it('is the refusal itself for what is no WebSocket', () => {
    const refusal = text(403, 'no');
    expect(refusedTerminal({}, refusal)).toBe(refusal);
  });
});
