import { describe, expect, it } from 'vitest';
import { readImports } from './imports/read-imports.js';
import { allowedRooms, checkImports, formatViolation, judgeImport, roomCycles } from './imports/rules.js';

describe('judgeImport', () => {
  it.each([
    ['a room imports from itself', 'src/pods/workers/worker.ts', '../desired/index.js'],
    ['a room imports from an allowed one', 'src/pods/workers/worker.ts', '../../cri/index.js'],
    ['timeline imports async', 'src/timeline/timeline.ts', '../async/index.js'],
    ['cri imports grpc', 'src/cri/client.ts', '../grpc/index.js'],
    ['cri imports kube', 'src/cri/client.ts', '../kube/index.js'],
    ['kubelet imports config', 'src/kubelet/create.ts', '../config/index.js'],
    ['server imports kubelet', 'src/server/pods.ts', '../kubelet/index.js'],
    ['cli imports server', 'src/cli/agent.ts', '../server/index.js'],
    ['the library imports everything', 'src/index.ts', './kubelet/index.js'],
    ['a package is nobody’s room', 'src/grpc/connection.ts', '@grpc/grpc-js'],
    ['Node’s own module has its prefix', 'src/grpc/connection.ts', 'node:http2'],
    ['programs starts programs', 'src/programs/start.ts', 'node:child_process'],
    ['a test starts programs', 'src/pods/a.test.ts', 'node:child_process'],
    ['help for tests does', 'src/runtimes/process/test-crash.ts', 'node:child_process'],
    ['host imports programs', 'src/host/mount-command.ts', '../programs/index.js'],
    ['a test sets up with any room', 'src/runtime-manager/manager.test.ts', '../runtimes/sim/index.js'],
  ])('%s', (_, file, specifier) => {
    expect(judgeImport(file, specifier)).toBeUndefined();
  });

  it.each([
    [
      'kube knows async only',
      'src/kube/types/pod.ts',
      '../../metrics/index.js',
      /kube may import from only async/,
    ],
    [
      'peers do not know each other',
      'src/pods/a.ts',
      '../runtime-manager/index.js',
      /\(runtime-manager\): pods may import/,
    ],
    [
      'deep imports count',
      'src/pods/status/a.ts',
      '../../runtime-manager/pleg/index.js',
      /\(runtime-manager\)/,
    ],
    ['grpc knows async only', 'src/grpc/a.ts', '../cri/index.js', /grpc may import from only async/],
    ['config knows flags and kube only', 'src/config/a.ts', '../async/index.js', /only flags, kube$/],
    ['flags knows no other room', 'src/flags/a.ts', '../kube/index.js', /no other room$/],
    ['runtimes leave metrics alone', 'src/runtimes/sim/a.ts', '../../metrics/index.js', /\(metrics\)/],
    ['kubelet does not know server', 'src/kubelet/a.ts', '../server/index.js', /\(server\)/],
    ['server does not know cli', 'src/server/a.ts', '../cli/main.js', /\(cli\)/],
    ['rooms do not know the library', 'src/kubelet/a.ts', '../index.js', /\(index\)/],
    ['src does not know test', 'src/pods/a.ts', '../../test/sim/b.js', /nothing outside src/],
    ['tests in src do not know bench', 'src/pods/a.test.ts', '../../bench/b.js', /nothing outside src/],
    ['only programs starts programs', 'src/volumes/a.ts', 'node:child_process', /only src\/programs starts/],
    ['under no name', 'src/cli/a.ts', 'child_process', /only src\/programs starts programs/],
    [
      'programs knows async only',
      'src/programs/a.ts',
      '../kube/index.js',
      /programs may import from only async/,
    ],
    ['Node’s own modules need the prefix', 'src/cri/a.ts', 'fs', /'node:fs'/],
    ['their parts, too', 'src/cri/a.test.ts', 'fs/promises', /'node:fs\/promises'/],
    ['a new room needs a rule', 'src/attic/a.ts', '../kube/index.js', /no rule for the room attic/],
  ])('%s', (_, file, specifier, message) => {
    expect(judgeImport(file, specifier)).toMatch(message);
  });

  it('has a table without cycles', () => {
    const files = [...allowedRooms].map(([room, allowed]) => ({
      path: `src/${room}/index.ts`,
      imports: allowed.map((target) => ({ specifier: `../${target}/index.js`, line: 1 })),
    }));
    expect(roomCycles(files)).toEqual([]);
  });
});

describe('checkImports', () => {
  it('names the file, the line, the import and the rule', () => {
    const files = [{ path: 'src/config/a.ts', imports: [{ specifier: '../cri/index.js', line: 7 }] }];
    expect(checkImports(files).map(formatViolation)).toEqual([
      "src/config/a.ts:7: imports '../cri/index.js' (cri): config may import from only flags, kube",
    ]);
  });
  it('reports a cycle of rooms once', () => {
    const files = [
      { path: 'src/a/index.ts', imports: [{ specifier: '../b/index.js', line: 1 }] },
      { path: 'src/b/index.ts', imports: [{ specifier: '../c/index.js', line: 2 }] },
      { path: 'src/c/index.ts', imports: [{ specifier: '../a/index.js', line: 3 }] },
      { path: 'src/c/x.test.ts', imports: [{ specifier: '../b/index.js', line: 4 }] },
    ];
    expect(roomCycles(files)).toEqual([
      { path: 'src/a/index.ts', line: 1, message: 'closes a cycle of rooms: a → b → c → a' },
    ]);
  });
});

describe('readImports', () => {
  it.each<[string, string, [string, number][]]>([
    ['static', "import { a } from './a.js';", [['./a.js', 1]]],
    ['types', "import type { A } from './a.js';", [['./a.js', 1]]],
    [
      'over lines',
      "import {\n  a,\n} from './a.js';\nimport b from './b.js';",
      [
        ['./a.js', 3],
        ['./b.js', 4],
      ],
    ],
    ['for its effect', "import './a.js';", [['./a.js', 1]]],
    ['dynamic', "const a = await import('./a.js');", [['./a.js', 1]]],
    ['a type by import()', "let a: import('./a.js').A;", [['./a.js', 1]]],
    [
      're-exports',
      'export * from \'./a.js\';\nexport { b } from "./b.js";',
      [
        ['./a.js', 1],
        ['./b.js', 2],
      ],
    ],
    ['require', "const a = require('./a.js');", [['./a.js', 1]]],
    ['inside a template', `\`\${\`}\` + await import('./a.js')}\``, [['./a.js', 1]]],
    ['after a template over lines', `\`a\n\${{ b: 1 }.b}\n\`;\nimport './a.js';`, [['./a.js', 4]]],
    ['after a regular expression with quotes', "x = /['\"`/]\\/'/;\nimport './a.js';", [['./a.js', 2]]],
    ['after a division', "x = a / b; y = c / d;\nimport './a.js';", [['./a.js', 2]]],
    ['after a template that is divided', "`a` / 2; import './a.js'; 3 / 1", [['./a.js', 1]]],
    ['not in comments', "// import './a.js'\n/* from './b.js'\n*/ import './c.js';", [['./c.js', 3]]],
    ['not in strings', "const a = \"import './a.js'\"; const b = `from './b.js'`;", []],
    ['not methods of these names', "Array.from('abc'); loader.import('x'); a.require('y');", []],
    ['not what is computed', 'await import(name);', []],
  ])('%s', (_, source, expected) => {
    expect(readImports(source).map(({ specifier, line }) => [specifier, line])).toEqual(expected);
  });
});
