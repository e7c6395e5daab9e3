import { describe, expect, it } from 'vitest';
import { type CommandEnd, parseStatus, statusJson, statusText } from './status.js';

const ends: [rule: string, end: CommandEnd, json: object, text: string][] = [
  ['exit code 0 is success', { kind: 'exit', code: 0 }, { status: 'Success' }, ''],
  ['the end of an attach is success', { kind: 'detached' }, { status: 'Success' }, ''],
  [
    'another exit code is a cause of the status',
    { kind: 'exit', code: 42 },
    {
      status: 'Failure',
      reason: 'NonZeroExitCode',
      message: 'command terminated with non-zero exit code: command terminated with exit code 42',
      details: { causes: [{ reason: 'ExitCode', message: '42' }] },
    },
    'command terminated with exit code 42',
  ],
  [
    'a failure to run is an internal error',
    { kind: 'failed', during: 'exec', error: new Error('boom') },
    {
      status: 'Failure',
      reason: 'InternalError',
      code: 500,
      message: 'Internal error occurred: error executing command in container: boom',
    },
    'error executing command in container: boom',
  ],
  [
    'a failed attach has its own message',
    { kind: 'failed', during: 'attach', error: 'boom' },
    { message: 'Internal error occurred: error attaching to container: boom' },
    'error attaching to container: boom',
  ],
];

describe('the status of a command', () => {
  it.each(ends)('%s', (_, end, json, text) => {
    expect(JSON.parse(statusJson(end))).toMatchObject(json);
    expect(statusText(end)).toBe(text);
  });

  it('is parsed as it was written', () => {
    expect(parseStatus(statusJson({ kind: 'exit', code: 0 }))).toEqual({ exitCode: 0 });
    expect(parseStatus(statusJson({ kind: 'exit', code: 7 }))).toMatchObject({ exitCode: 7 });
    expect(() => parseStatus(statusJson({ kind: 'failed', during: 'exec', error: 'boom' }))).toThrow(/boom/);
  });

  it.each([
    ['no JSON', 'oops'],
    ['a missing exit code', '{"status":"Failure","reason":"NonZeroExitCode"}'],
    ['nothing', '{}'],
  ])('that is %s is an error', (_, text) => {
    expect(() => parseStatus(text)).toThrow();
  });
});
