import { expect, it } from 'vitest';
import { connectProblem } from './open-runtime.js';

const refused = (code: string): Error =>
  new Error('the first call failed', {
    cause: Object.assign(new Error(`connect ${code}`), { code, syscall: 'connect' }),
  });

it.each([
  ['ENOENT', 'there is no /run/x.sock'],
  ['ECONNREFUSED', 'nothing listens at /run/x.sock'],
  ['EACCES', 'this user cannot open /run/x.sock'],
  ['EMFILE', 'the first call failed: connect EMFILE'],
])('explains %s of the socket', (code, text) => {
  expect(connectProblem('unix:///run/x.sock', refused(code))).toBe(text);
});

it('does not read the code from a text', () => {
  expect(connectProblem('unix:///run/x.sock', new Error('no ENOENT here'))).toBe('no ENOENT here');
});
