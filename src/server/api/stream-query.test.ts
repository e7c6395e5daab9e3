import { describe, expect, it } from 'vitest';
import { decodePorts, decodeStreams, upgradeKind } from './stream-query.js';

describe('decodeStreams', () => {
  it.each([
    ['no stream is no request', 'command=ls', undefined],
    ['only 1 is a yes', 'output=true', undefined],
    ['a terminal alone is no stream', 'tty=1', undefined],
    ['output', 'output=1', { stdin: false, stdout: true, stderr: false, tty: false }],
    [
      'a terminal drops errors',
      'output=1&error=1&tty=1',
      { stdin: false, stdout: true, stderr: false, tty: true },
    ],
    ['all', 'input=1&output=1&error=1', { stdin: true, stdout: true, stderr: true, tty: false }],
  ])('%s', (_, query, streams) => {
    expect(decodeStreams(new URLSearchParams(query))).toEqual(streams);
  });
});

const webSocket = { connection: 'keep-alive, Upgrade', upgrade: 'WebSocket' };

describe('upgradeKind', () => {
  it.each([
    ['no upgrade', { upgrade: 'SPDY/3.1' }, 'none'],
    ['SPDY', { connection: 'upgrade', upgrade: 'SPDY/3.1' }, 'transparent'],
    ['a WebSocket', webSocket, 'websocket'],
    ['a tunnel', { ...webSocket, 'sec-websocket-protocol': 'x, SPDY/3.1+portforward.k8s.io' }, 'tunnel'],
  ])('%s', (_, headers, kind) => {
    expect(upgradeKind(headers)).toBe(kind);
  });
});

describe('decodePorts', () => {
  it.each([
    ['none', '', 'query parameter "port" is required'],
    ['an empty one', 'port=', 'query parameter "port" cannot be empty'],
    ['zero', 'port=0', 'port "0" must be > 0'],
    [
      'too large',
      'port=65536',
      'unable to parse "65536" as a port: strconv.ParseUint: parsing "65536": value out of range',
    ],
    [
      'no number',
      'port=abc',
      'unable to parse "abc" as a port: strconv.ParseUint: parsing "abc": invalid syntax',
    ],
    [
      'negative',
      'port=-1',
      'unable to parse "-1" as a port: strconv.ParseUint: parsing "-1": invalid syntax',
    ],
  ])('%s is rejected', (_, query, message) => {
    expect(decodePorts(new URLSearchParams(query), webSocket)).toEqual({ kind: 'invalid', message });
  });

  it('accepts lists and repetitions', () => {
    expect(decodePorts(new URLSearchParams('port=1,65535&port=80'), webSocket)).toEqual({
      kind: 'ports',
      ports: [1, 65_535, 80],
    });
  });

  it('does not require ports from clients that name them per stream', () => {
    const spdy = { connection: 'Upgrade', upgrade: 'SPDY/3.1' };
    expect(decodePorts(new URLSearchParams('port=abc'), spdy)).toEqual({ kind: 'ports', ports: [] });
  });
});
