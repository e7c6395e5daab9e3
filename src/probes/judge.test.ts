import { describe, expect, it } from 'vitest';
import type { GrpcHealthResult, ProbeOutcome } from './contracts.js';
import { judgeGrpc, judgeHttp } from './judge.js';
import { eventOf, resultOf } from './prober.js';

describe('responses to httpGet', () => {
  it.each([
    [200, 'success', 'body'],
    [204, 'success', 'body'],
    [299, 'success', 'body'],
    [300, 'warning', 'Probe terminated redirects, Response body: body'],
    [399, 'warning', 'Probe terminated redirects, Response body: body'],
    [400, 'failure', 'HTTP probe failed with statuscode: 400'],
    [503, 'failure', 'HTTP probe failed with statuscode: 503'],
    [101, 'failure', 'HTTP probe failed with statuscode: 101'],
  ])('%i', (status, state, output) => {
    expect(judgeHttp({ status, body: 'body' })).toEqual({ state, output });
  });
});

describe('responses to grpc', () => {
  it.each<[string, GrpcHealthResult, string]>([
    ['SERVING', { kind: 'status', status: 'SERVING' }, 'service healthy'],
    [
      'NOT_SERVING',
      { kind: 'status', status: 'NOT_SERVING' },
      'service unhealthy (responded with "NOT_SERVING")',
    ],
    [
      'no connection',
      { kind: 'no-connection' },
      'timeout: failed to connect service "10.0.0.1:90" within 1.5s: context deadline exceeded',
    ],
    [
      'a dial error',
      { kind: 'dial-error', message: 'odd' },
      'error: failed to connect service at "10.0.0.1:90": odd',
    ],
    [
      'Unimplemented',
      { kind: 'rpc-error', code: 12, message: 'unknown service' },
      'error: this server does not implement the grpc health protocol (grpc.health.v1.Health): unknown service',
    ],
    [
      'DeadlineExceeded',
      { kind: 'rpc-error', code: 4, message: '' },
      'timeout: health rpc did not complete within 1.5s',
    ],
    [
      'another error',
      { kind: 'rpc-error', code: 5, message: 'no such service' },
      'error: health rpc probe failed: rpc error: code = NotFound desc = no such service',
    ],
  ])('%s', (name, answer, output) => {
    const state = name === 'SERVING' ? 'success' : 'failure';
    expect(judgeGrpc(answer, '10.0.0.1:90', 1_500)).toEqual({ state, output });
  });
});

describe('events', () => {
  const error = new Error('boom');
  it.each<[string, ProbeOutcome, string, string | undefined]>([
    ['success', { state: 'success', output: 'fine' }, 'success', undefined],
    ['warning', { state: 'warning', output: 'w' }, 'success', 'ProbeWarning: Liveness probe warning: w'],
    ['failure', { state: 'failure', output: 'f' }, 'failure', 'Unhealthy: Liveness probe failed: f'],
    ['unknown', { state: 'unknown', output: 'u' }, 'failure', undefined],
    [
      'error',
      { state: 'unknown', error },
      'failure',
      'Unhealthy: Liveness probe errored and resulted in unknown state: boom',
    ],
    [
      'error after a response',
      { state: 'failure', error },
      'failure',
      'Unhealthy: Liveness probe errored and resulted in failure state: boom',
    ],
  ])('%s', (_, outcome, result, event) => {
    const told = eventOf('Liveness', outcome);
    expect(told && `${told.reason}: ${told.message}`).toBe(event);
    expect(resultOf(outcome)).toBe(result);
  });
});
