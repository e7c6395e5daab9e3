import { describe, expect, it } from 'vitest';
import { formatFieldPath, parseSource } from './document.js';
import { agentLimits, type DocumentLimits, SyntaxProblem } from './document-limits.js';

describe('parseSource', () => {
  it('locates a field by line and column', () => {
    const [doc] = parseSource('kind: Pod\nspec:\n  containers:\n  - name: a\n    image: b\n', 'pod.yaml');
    expect(doc?.locate(['spec', 'containers', 0, 'image'])).toEqual({ line: 5, column: 5 });
  });
  it('locates the nearest ancestor of a missing field', () => {
    const [doc] = parseSource('kind: Pod\nspec:\n  containers:\n  - name: a\n', 'pod.yaml');
    expect(doc?.locate(['spec', 'containers', 0, 'image'])).toEqual({ line: 4, column: 5 });
  });
  it('parses JSON too', () => {
    expect(parseSource('{"a": [1, true, null]}', 'x.json')[0]?.value).toEqual({ a: [1, true, null] });
  });
  it('splits documents and drops empty ones', () => {
    expect(parseSource('---\na: 1\n---\n# nothing\n---\nb: 2\n', 'x').map((d) => d.value)).toEqual([
      { a: 1 },
      { b: 2 },
    ]);
  });
  it('keeps the last of two equal keys and reports the second', () => {
    const [doc] = parseSource('a: 1\nb: 2\na: 3\n', 'x');
    expect(doc?.value).toEqual({ a: 3, b: 2 });
    expect(doc?.duplicateKeys).toEqual([{ key: 'a', line: 3, column: 1 }]);
  });
  it('carries file, position and text of a syntax error as data', () => {
    const problemOf = (text: string, limits?: DocumentLimits) => {
      try {
        parseSource(text, 'bad.yaml', limits);
      } catch (error) {
        return error instanceof SyntaxProblem ? error.problem : error;
      }
      return undefined;
    };
    expect(problemOf('a: 1\nb: [1, 2\nc: 3')).toMatchObject({ file: 'bad.yaml', line: 3, field: '' });
    expect(problemOf('a: 1', { ...agentLimits, maxLength: 1 })).toMatchObject({ line: 0, column: 0 });
  });
  it('names file and line of a syntax error', () => {
    expect(() => parseSource('a: 1\nb: [1, 2\nc: 3', 'bad.yaml')).toThrow(SyntaxProblem);
    expect(() => parseSource('a: 1\nb: [1, 2\nc: 3', 'bad.yaml')).toThrow(/^bad\.yaml:\d+:\d+: /);
  });
  it.each([
    ['0644', 420],
    ['0o644', 420],
    ['0x1f', 31],
    ['yes', true],
    ['off', false],
    ['"yes"', 'yes'],
    ['1:30', '1:30'],
    ['e8', 'e8'],
    ['E+12', 'E+12'],
    ['.', '.'],
    ['+.', '+.'],
    ['1e3', 1000],
    ['-.5e1', -5],
    ['1.', 1],
    ['.5', 0.5],
    ['2024-01-02', '2024-01-02'],
    ['2024-01-02T03:04:05Z', '2024-01-02T03:04:05Z'],
    ['1.5', 1.5],
    ['~', null],
    ['100m', '100m'],
    ['1e3', 1000],
    ['08', 8],
    ['', null],
  ])('parses the scalar %s as Kubernetes does', (text, expected) => {
    expect(parseSource(`a: ${text}\n`, 'x')[0]?.value).toEqual({ a: expected });
  });
  it('merges anchors', () => {
    const [doc] = parseSource('base: &b {x: 1}\nall:\n  <<: *b\n  z: 2\n', 'x');
    expect(doc?.value).toEqual({ base: { x: 1 }, all: { x: 1, z: 2 } });
  });
  it('rejects alias bombs', () => {
    const bomb = ['a: &a [x,x,x,x,x,x,x,x,x,x]'];
    for (let i = 1; i < 9; i++) {
      const previous = String.fromCharCode(96 + i);
      const name = String.fromCharCode(97 + i);
      bomb.push(`${name}: &${name} [${Array(10).fill(`*${previous}`).join(',')}]`);
    }
    expect(() => parseSource(bomb.join('\n'), 'bomb.yaml')).toThrow();
  });
});

describe('formatFieldPath', () => {
  it('writes indexes in brackets', () => {
    expect(formatFieldPath(['spec', 'containers', 0, 'image'])).toBe('spec.containers[0].image');
  });
  it('writes free keys in brackets', () => {
    expect(formatFieldPath(['metadata', 'labels', 'app.example/x'])).toBe('metadata.labels[app.example/x]');
  });
});

describe('a JSON text', () => {
  it('is read as it is written', () => {
    expect(parseSource('{"a\\"": "b\\": ", "c" : [{"d": "\\\\"}]}', 'x.json')).toMatchObject([
      { value: { 'a"': 'b": ', c: [{ d: '\\' }] }, duplicateKeys: [] },
    ]);
  });
  it('locates a field', () => {
    const [document] = parseSource('{\n  "a": {\n    "b": [1, 2]\n  }\n}', 'x.json');
    expect(document?.locate(['a', 'b'])).toEqual({ line: 3, column: 5 });
    expect(document?.locate(['a', 'missing'])).toEqual({ line: 2, column: 3 });
  });
  it('with a duplicate key is parsed with a note of it', () => {
    const [document] = parseSource('{"a": 1,\n "a": 2}', 'x.json');
    expect(document).toMatchObject({ value: { a: 2 }, duplicateKeys: [{ key: 'a', line: 2 }] });
  });
  it.each([
    ['a YAML mapping in braces', '{a: 1, b: yes}', { a: 1, b: true }],
    ['a comment in it', '{"a": 1} # one', { a: 1 }],
  ])('or nearly so: %s', (_, given, value) => {
    expect(parseSource(given, 'x.yaml')[0]?.value).toEqual(value);
  });
  it('or not at all: the place is told', () => {
    expect(() => parseSource('{"a": 1,\n "b": [}', 'x.json')).toThrow(/^x\.json:2:/);
  });
});
