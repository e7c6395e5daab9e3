import { describe, expect, it } from 'vitest';
import { type DeclaredType, readTypes, typeNameProblems } from './type-names/type-names.js';

describe('readTypes', () => {
  it.each<[rule: string, text: string, names: string[]]>([
    ['interfaces', 'export interface Lease<T> {}\ninterface Pod extends Lease {}', ['Lease', 'Pod']],
    ['aliases, broken ones too', "type Verb = 'get';\nexport type Pair<T> =\n  | [T, T];", ['Verb', 'Pair']],
    ['classes', 'export default class A {}\nexport abstract class B<T> extends A {}', ['A', 'B']],
    ['classes without exports', 'class C implements D {}', ['C']],
    [
      'enums',
      'export enum Color {}\nexport const enum Shape {}\ndeclare enum Size {}',
      ['Color', 'Shape', 'Size'],
    ],
    ['types inside functions', 'function f() {\n  interface Inner {}\n}', ['Inner']],
    [
      'not imports',
      "import {\n  type Lease,\n  type Pod\n} from './x.js';\nexport type { A } from './y.js';",
      [],
    ],
    ['not comments', '/**\n * type Lease = string\n */\n// class Pod {}', []],
    ['not variables', "const type = 'x';\ntype = y;", []],
  ])('%s', (_rule, text, names) => {
    expect(readTypes({ path: 'src/x.ts', text }).map(({ name }) => name)).toEqual(names);
  });

  it('tells the line', () => {
    expect(readTypes({ path: 'src/x.ts', text: '/** Why. */\n\n  interface Pod {}' })).toEqual([
      { path: 'src/x.ts', line: 3, name: 'Pod' },
    ]);
  });
});

describe('typeNameProblems', () => {
  const declared = (path: string, name: string): DeclaredType => ({ path, line: 7, name });

  it('accepts names that differ', () => {
    expect(typeNameProblems([declared('src/a.ts', 'SpdyFrame'), declared('src/b.ts', 'Http2Frame')])).toEqual(
      [],
    );
  });

  it('names both places and what to do', () => {
    expect(typeNameProblems([declared('src/a.ts', 'Frame'), declared('src/b.ts', 'Frame')])).toEqual([
      'src/b.ts:7: the name Frame is taken by src/a.ts:7; share that type if both mean the same, or else give each a name that tells them apart',
    ]);
  });

  it('counts two types of one file', () => {
    expect(typeNameProblems([declared('src/a.ts', 'Frame'), declared('src/a.ts', 'Frame')])).toHaveLength(1);
  });

  it('refuses a name that fits any type', () => {
    expect(typeNameProblems([declared('src/a.ts', 'Answer')])).toEqual([
      'src/a.ts:7: the name Answer fits any type; name what the type describes',
    ]);
  });
});
