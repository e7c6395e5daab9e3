import { describe, expect, it } from 'vitest';
import { findInEnvFile } from './env-file.js';

describe('findInEnvFile', () => {
  const rows: [rule: string, text: string, expected: string | undefined][] = [
    ['a quoted value', "K='v'", 'v'],
    ['another name', "L='v'", undefined],
    ['comments and blank lines are skipped', "# c\n\n   \n  # d\nK='v'", 'v'],
    ['leading blanks are ignored', " \tK='v'", 'v'],
    ['blanks or a comment may follow', "L='1' \nK='v'  # c", 'v'],
    ['a blank after = means empty', "K= 'v'", ''],
    ['nothing after = means empty', 'K=\n', ''],
    ['values are literal', `K='a$(B) "c" \\n #d'`, 'a$(B) "c" \\n #d'],
    ['values may span lines', "L='1\n2'\nK='a\nb'\n", 'a\nb'],
    ['the first one wins', "K='1'\nK='2'", '1'],
    ['errors after it do not matter', "K='1'\nbroken", '1'],
    ['an empty file has nothing', '', undefined],
    ['an assignment inside a value is text', "L='\nK=1\n'\nK='v'", 'v'],
    ['carriage returns are blanks', "L='1'\r\nK='v'\r\n", 'v'],
  ];
  it.each(rows)('%s', (_rule, text, expected) => {
    expect(findInEnvFile(text, 'K')).toBe(expected);
  });

  const failures: [rule: string, text: string, message: string][] = [
    ['no blanks before =', "K ='v'", "line 1: expected NAME='value' without blanks before '='"],
    ['no line without =', "# c\nK\nK='v'", 'line 2: expected NAME'],
    ['quotes are needed', 'K=v', 'line 1: the value must stand in single quotes'],
    ['double quotes do not count', 'L="v"\nK=\'v\'', 'line 1: the value must stand in single quotes'],
    ['an open quote', "L='1\n2'\nK='v", 'line 3: the value has no closing quote'],
    ['text after the quote', "K='v'x", 'line 1: only blanks or a comment may follow the closing quote'],
    ['no name', "='v'", 'line 1: expected NAME'],
  ];
  it.each(failures)('%s', (_rule, text, message) => {
    expect(() => findInEnvFile(text, 'K')).toThrow(message);
  });
});
