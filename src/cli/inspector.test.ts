import { expect, it } from 'vitest';
import { wantsInspector } from './inspector.js';

it.each<[string, string[], string | undefined, boolean]>([
  ['nothing', [], undefined, false],
  ['other options', ['--min-semi-space-size=4', '--inspect-port=0'], '--no-warnings', false],
  ['the option', ['--inspect'], undefined, true],
  ['the option with an address', ['--inspect-brk=127.0.0.1:0'], undefined, true],
  ['the environment', [], '--no-warnings --inspect-wait', true],
])('%s', (_, execArgv, nodeOptions, wants) => {
  expect(wantsInspector(execArgv, nodeOptions)).toBe(wants);
});
