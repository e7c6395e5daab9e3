import { expect, it } from 'vitest';
import { parseProbeRules, probeAnswer } from './probe-answers.js';

it.each([
  ['no rule for the port', '9090=fail', 8080, '/', 0, 200],
  ['one answer for all', 'fail', 8080, '/', 0, 503],
  ['a status', '8080=418', 8080, '/', 0, 418],
  ['the path is more exact than the port', '8080=fail,8080/ready=ok', 8080, '/ready', 0, 200],
  ['another path has the answer of its port', '8080=fail,8080/ready=ok', 8080, '/live', 0, 503],
  ['the port is more exact than all', 'fail,8080=ok', 8080, undefined, 0, 200],
  ['before its time', 'fail:10s+ok', 8080, '/', 9_999, 503],
  ['after its time', 'fail:10s+ok', 8080, '/', 10_000, 200],
])('%s', (_, text, port, path, runningMs, status) => {
  expect(probeAnswer(parseProbeRules(text), { port, path }, runningMs)).toEqual({ kind: 'status', status });
});

it.each([
  ['hang', 'silent'],
  ['refuse', 'refused'],
])('%s', (text, kind) => {
  expect(probeAnswer(parseProbeRules(text), { port: 1, path: undefined }, 0)).toEqual({ kind });
});

it.each([
  ['a word that is no answer', 'maybe', '"maybe" is no answer'],
  ['a status that is none', '8080=999', '"999" is no answer'],
  ['a port that is none', '70000=ok', 'does not begin with a port'],
  ['a name instead of a port', 'web=ok', 'does not begin with a port'],
  ['too many rules', Array(33).fill('ok').join(','), 'at most 32'],
])('%s is refused', (_, text, message) => {
  expect(() => parseProbeRules(text)).toThrow(message);
});
