import { describe, expect, it } from 'vitest';
import { expand } from './expansion.js';

const variables: Record<string, string> = { VAR: 'x', V: 'A', NESTED: '$(VAR)', EMPTY: '' };

describe('expand', () => {
  const rows: [rule: string, text: string, expected: string][] = [
    ['a known name', 'a$(VAR)b', 'axb'],
    ['an empty value', '[$(EMPTY)]', '[]'],
    ['unknown names stay', '$(NOPE)', '$(NOPE)'],
    ['an escaped reference', '$$(VAR)', '$(VAR)'],
    ['an unclosed reference', '$(VAR', '$(VAR'],
    ['several escapes and a reference', '$$$$$$$(V)', '$$$A'],
    ['results are not expanded again', '$(NESTED)', '$(VAR)'],
    ['no nesting', '$($(VAR))', '$($(VAR))'],
    ['a dollar before anything else', 'a$b $5 $', 'a$b $5 $'],
    ['two dollars at the end', '$$', '$'],
    ['an empty name', '$()', '$()'],
    ['neighbours', '$(VAR)$(V)', 'xA'],
    ['an unclosed one before a closed one ends at the first bracket', '$(A $(V)', '$(A $(V)'],
  ];
  it.each(rows)('%s: %s → %s', (_rule, text, expected) => {
    expect(expand(text, (name) => variables[name])).toBe(expected);
  });
});
