import { describe, expect, it } from 'vitest';
import {
  type CallEnd,
  callError,
  escapeMessage,
  timeoutMsOf,
  timeoutText,
  unescapeMessage,
} from './call-status.js';

const nothing: CallEnd = {
  dialed: 'unix /s',
  headers: undefined,
  trailers: undefined,
  resetCode: 0,
  isLate: false,
  error: undefined,
};
const failed = (fields: Partial<NodeJS.ErrnoException>): NodeJS.ErrnoException =>
  Object.assign(new Error('it broke'), fields);
const ok = { ':status': 200 };

describe('callError', () => {
  it.each<[rule: string, end: Partial<CallEnd>, expected: string | undefined]>([
    ['status 0 in the trailers is no error', { headers: ok, trailers: { 'grpc-status': '0' } }, undefined],
    [
      'a status with its message',
      { headers: ok, trailers: { 'grpc-status': '5', 'grpc-message': 'no %C3%BC' } },
      'NotFound: no ü',
    ],
    [
      'the status of a Trailers-Only response is in the headers',
      { headers: { ...ok, 'grpc-status': '12', 'grpc-message': 'unknown method' } },
      'Unimplemented: unknown method',
    ],
    ['a status that is not a number', { headers: ok, trailers: { 'grpc-status': 'x' } }, 'Unknown: '],
    [
      'a response that is not gRPC',
      { headers: { ':status': 503 } },
      'Unavailable: unexpected HTTP status code received from server: 503',
    ],
    [
      'a missing socket',
      { error: failed({ syscall: 'connect', code: 'ENOENT' }) },
      'Unavailable: connection error: desc = "transport: Error while dialing: dial unix /s: connect: no such file or directory"',
    ],
    [
      'a name whose addresses all refuse',
      {
        dialed: 'tcp localhost:4317',
        error: Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' }),
      },
      'Unavailable: connection error: desc = "transport: Error while dialing: dial tcp localhost:4317: connect: connection refused"',
    ],
    [
      'a socket without a server',
      { error: failed({ syscall: 'connect', code: 'ECONNREFUSED' }) },
      'Unavailable: connection error: desc = "transport: Error while dialing: dial unix /s: connect: connection refused"',
    ],
    [
      'a stream that the server cancels when the time is over',
      { headers: ok, resetCode: 8, isLate: true },
      'DeadlineExceeded: context deadline exceeded',
    ],
    [
      'a stream that the server cancels before',
      { headers: ok, resetCode: 8 },
      'Canceled: stream terminated by RST_STREAM with error code: 8',
    ],
    [
      'a refused stream',
      { resetCode: 7, error: failed({ code: 'ERR_HTTP2_STREAM_ERROR' }) },
      'Unavailable: stream terminated by RST_STREAM with error code: 7',
    ],
    [
      'a stream that was reset with another code',
      { headers: ok, resetCode: 2, error: failed({ code: 'ERR_HTTP2_STREAM_ERROR' }) },
      'Internal: stream terminated by RST_STREAM with error code: 2',
    ],
    [
      'a connection that ended before the response',
      { headers: ok, error: failed({ code: 'ECONNRESET' }) },
      'Unavailable: error reading from server: EOF',
    ],
  ])('%s', (_rule, end, expected) => {
    const error = callError({ ...nothing, ...end });
    expect(error && `${error.codeName}: ${error.details}`).toBe(expected);
  });
});

describe('unescapeMessage', () => {
  it.each([
    ['plain', 'plain'],
    ['100%25', '100%'],
    ['a%20b%e2%82%ac', 'a b€'],
    ['%zz and %2', '%zz and %2'],
  ])('%s', (escaped, expected) => expect(unescapeMessage(escaped)).toBe(expected));
});

describe('escapeMessage', () => {
  it.each(['plain', '100%', 'ü€ and\nlines', ''])('%j survives escaping and unescaping', (text) => {
    const escaped = escapeMessage(text);
    expect(escaped).toMatch(/^[ -~]*$/);
    expect(unescapeMessage(escaped)).toBe(text);
  });
});

describe('grpc-timeout', () => {
  it.each([
    [0, '0m'],
    [1500, '1500m'],
    [100_000_000, '100000S'],
  ])('%i ms is %s', (ms, text) => {
    expect(timeoutText(ms)).toBe(text);
    expect(timeoutMsOf(text)).toBe(ms);
  });
  it.each([undefined, '', '5', 'm', '123456789m', '5x'])('%j is none', (header) =>
    expect(timeoutMsOf(header)).toBeUndefined(),
  );
});
