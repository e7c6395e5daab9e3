import { expect, it } from 'vitest';
import { flagHelp } from './flag-help.js';
import { bool, type FlagSpecs, string } from './flag-spec.js';

const specs: FlagSpecs = {
  follow: { type: bool, shorthand: 'f', about: 'follow the log' },
  container: { type: string, shorthand: 'c', valueName: 'NAME', about: 'the container' },
  since: { type: string, about: 'how old:\n  30s  seconds' },
};

it('aligns the descriptions behind the longest flag', () => {
  expect(flagHelp(specs)).toEqual([
    '  -f, --follow          follow the log',
    '  -c, --container NAME  the container',
    '      --since TEXT      how old:\n                          30s  seconds',
  ]);
});

it('gives flags that reach the column a line of their own', () => {
  expect(flagHelp(specs, { column: 20 })).toEqual([
    '  -f, --follow      follow the log',
    '  -c, --container NAME\n                    the container',
    '      --since TEXT  how old:\n                      30s  seconds',
  ]);
});
