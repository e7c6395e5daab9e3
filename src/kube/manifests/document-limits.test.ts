import { describe, expect, it } from 'vitest';
import { decodePods } from './decode.js';
import { parseSource, type SourceDocument } from './document.js';
import { agentLimits, commandLimits, maxDepth, maxProblems, SyntaxProblem } from './document-limits.js';
import { InvalidManifest } from './problem.js';

const head = 'apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: b}]}\n';
const many = (count: number, text: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => text(index)).join('');

function refusal(text: string, limits = agentLimits): string {
  try {
    parseSource(text, 'pod.yaml', limits);
  } catch (error) {
    // Anything else is a crash of the parser, not a verdict on the text.
    if (error instanceof SyntaxProblem) return error.message;
    throw error;
  }
  return 'none';
}

describe('nesting', () => {
  it.each([
    ['flow lists', `${head}x: ${'['.repeat(3000)}${']'.repeat(3000)}`, 'x'],
    ['flow lists that are never closed', `${head}x: ${'['.repeat(100_000)}`, 'x'],
    ['flow mappings', `${head}x: ${'{a: '.repeat(3000)}${'}'.repeat(3000)}`, 'x.a.a'],
    ['indented mappings', `${head}x:\n${many(1000, (at) => `${' '.repeat(at + 1)}a:\n`)}`, 'x.a.a'],
    ['lists in one line', `${head}x:\n - b\n - ${'- '.repeat(3000)}a`, 'x[1][0]'],
    ['JSON lists', `{"a": {"b": 1}, "x": ${'['.repeat(3000)}${']'.repeat(3000)}}`, 'x[0][0]'],
    ['JSON objects', `{"x": [1, ${'{"a": '.repeat(3000)}1${'}'.repeat(3000)}]}`, 'x[1].a'],
  ])('of %s is rejected with the field', (_, text, field) => {
    expect(refusal(text)).toMatch(/^pod\.yaml:\d+:\d+: /);
    expect(refusal(text)).toContain(
      ` ${field}: lists and mappings are nested more than ${maxDepth} levels deep; flatten or remove`,
    );
  });

  it.each([
    ['YAML', `${'['.repeat(maxDepth)}${']'.repeat(maxDepth)}`],
    ['JSON', `{"a": ${'['.repeat(maxDepth - 1)}${']'.repeat(maxDepth - 1)}}`],
  ])('of %s up to the limit is accepted', (_, text) => {
    expect(refusal(text)).toBe('none');
  });

  it('inside a text does not count', () => {
    const brackets = '['.repeat(5000);
    expect(refusal(`a: |\n  ${brackets}\nb: "${brackets}"\nc: '${brackets}' # ${brackets}\n`)).toBe('none');
    expect(refusal(`{"a": "${brackets}\\"${brackets}"}`)).toBe('none');
  });

  it('through aliases counts as if written out', () => {
    const wrapped = (inner: string): string => `${'['.repeat(60)}${inner}${']'.repeat(60)}`;
    expect(refusal(`a: &a ${wrapped('1')}\nb: ${wrapped('*a')}\n`)).toMatch(
      /aliases written out.*levels deep/,
    );
    expect(refusal('a: &a [*a]\n')).toMatch(/aliases written out.*levels deep/);
  });
});

describe('keys', () => {
  it('that are lists or mappings are rejected, as each would double the text of the one around it', () => {
    expect(refusal(`x:\n ${'? '.repeat(90)}a\n`)).toMatch(/cannot be the name of a field/);
    expect(refusal('{[a]: 1}')).toMatch(/cannot be the name of a field/);
  });
});

describe('size', () => {
  const few = { ...agentLimits, maxTokens: 1000 };
  it.each([
    ['lines', '- a\n'.repeat(few.maxTokens)],
    ['documents', '---\na\n'.repeat(few.maxTokens)],
    ['errors', `x: [${','.repeat(few.maxTokens)}]`],
    ['JSON values', `{"a": [${'1,'.repeat(few.maxTokens)}1]}`],
    ['JSON lists', `{"a": [${'[],'.repeat(few.maxTokens)}1]}`],
  ])('in %s is limited', (_, text) => {
    expect(refusal(text, few)).toMatch(/^pod\.yaml.*: it has more than 1000 values; split it/);
  });

  it('in characters is limited, and a long text below the limit is accepted', () => {
    expect(refusal('a'.repeat(agentLimits.maxLength + 1))).toMatch(/more than 10485760 characters/);
    expect(refusal(`a: ${'b'.repeat(5 * 1024 * 1024)}`)).toBe('none');
  });

  it('of expanded aliases is limited', () => {
    const text = `a: &a "${'x'.repeat(500_000)}"\nb: [${'*a, '.repeat(90)}]`;
    expect(refusal(text)).toMatch(/with its aliases written out it has more than 10485760 characters/);
    const merges = many(1000, (at) => `m${at}: &m${at} {<<: *m${at - 1}, k${at}: 1}\n`).replace('*m-1', '{}');
    expect(refusal(merges.repeat(2))).toMatch(/1998 aliases repeat too much/);
  });

  it('is more generous to commands', () => {
    expect(commandLimits.maxTokens).toBeGreaterThan(agentLimits.maxTokens);
  });
});

describe('problems', () => {
  const decode = (text: string): readonly string[] => {
    const [document] = parseSource(text, 'pod.yaml');
    const { warnings } = decodePods(document as SourceDocument);
    return warnings.map(({ line, field, message }) => `${line} ${field} ${message}`);
  };

  it.each([
    ['YAML', `${head}${many(10_000, (at) => `f${at}: 1\n`)}`, '5 f0'],
    [
      'JSON',
      `{"apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": {"containers": []}${many(10_000, (at) => `,\n"f${at}": 1`)}}`,
      '2 f0',
    ],
  ])('with unknown fields in %s are counted beyond the first hundred', (_, text, first) => {
    const warnings = decode(text);
    expect(warnings).toHaveLength(maxProblems + 1);
    expect(warnings[0]).toContain(first);
    expect(warnings.at(-1)).toContain('9900 more unknown fields');
  });

  it('with wrong types end after the first hundred', () => {
    const text = `apiVersion: v1\nkind: Pod\nspec:\n  containers:\n${many(5000, () => '  - name: 1\n')}`;
    try {
      decode(text);
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(InvalidManifest);
      const { problems } = error as InvalidManifest;
      expect(problems).toHaveLength(maxProblems + 1);
      expect(problems[99]).toMatchObject({ line: 104, field: 'spec.containers[99].name' });
      expect(problems.at(-1)?.message).toBe('there are more problems; correct those above first');
    }
  });

  it('with duplicate keys are a hundred at most', () => {
    expect(parseSource('a: 1\n'.repeat(1000), 'x')[0]?.duplicateKeys).toHaveLength(maxProblems);
    const json = `{${'"a": 1, '.repeat(1000)}"a": 2}`;
    expect(parseSource(json, 'x')[0]).toMatchObject({ value: { a: 2 } });
    expect(parseSource(json, 'x')[0]?.duplicateKeys).toHaveLength(maxProblems);
  });
});
