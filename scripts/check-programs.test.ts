import { describe, expect, it } from 'vitest';
import { packages, packagesFor } from '../test/env/programs.js';
import { readPrograms } from './programs/read-programs.js';
import { programsOfShell } from './programs/shell-words.js';

const withImport = (code: string): string =>
  `import { execFile, execFileSync, execSync, spawn as start } from 'node:child_process';\n${code}`;

describe('readPrograms', () => {
  it.each<[rule: string, source: string, programs: string[]]>([
    ['what child_process starts', withImport(`execFileSync('losetup', ['-d', device]);`), ['losetup']],
    ['by the name that the file has for it', withImport(`start('sleep', ['1']);`), ['sleep']],
    ['by a promise', withImport(`const run = promisify(execFile);\nawait run('blkid', []);`), ['blkid']],
    [
      'loaded later',
      `const { spawnSync } = await import('node:child_process'); spawnSync('chmod', []);`,
      ['chmod'],
    ],
    ['on a line of its own', withImport(`execFileSync(\n  'mount',\n  ['a'],\n);`), ['mount']],
    ['by our own functions', `await runCommand('iptables-save', []);`, ['iptables-save']],
    ['by a command line', `runProgram(CommandLine.of('umount').operand(path), {});`, ['umount']],
    ['a method of the same name is another thing', `await node.run('web'); pattern.exec('text');`, []],
    ['a function of the same name is another thing', `await run('web', ['x']); exec('web', 'mv a b');`, []],
    ['not what is a variable', withImport('execFileSync(program, []);'), []],
    ['not what is a path', withImport(`execFileSync('/tmp/x/program', []); start(\`\${dir}/y\`, []);`), []],
    ['the shell by its path', withImport(`start('/bin/sh', []);`), ['sh']],
    [
      'what a wrapper starts',
      `runCommand('setpriv', ['--pdeathsig', 'KILL', 'etcd', '-x'])`,
      ['setpriv', 'etcd'],
    ],
    [
      'what wrappers of wrappers start',
      `runCommand('env', ['-C', dir, 'nice', '-n', '9', 'go'])`,
      ['env', 'nice', 'go'],
    ],
    [
      'a wrapper with an unknown program',
      `runCommand('setpriv', ['--pdeathsig', 'KILL', program, 'x'])`,
      ['setpriv'],
    ],
    ['in another network', withImport(`start('ip', ['netns', 'exec', net, 'ss', '-t']);`), ['ip', 'ss']],
    [
      'what a script calls',
      withImport(`start('sh', ['-c', 'a=1; mkswap x && swapon x']);`),
      ['sh', 'mkswap', 'swapon'],
    ],
    ['what a shell is given', withImport(`execSync('lsof -i | wc -l');`), ['lsof', 'wc']],
  ])('%s', (_rule, source, programs) => {
    expect(readPrograms(source, false).map(({ program }) => program)).toEqual(programs);
  });

  it('takes the commands of pods for programs of this machine where they are', () => {
    const source = `command: ['sh', '-c', 'nc -l']`;
    expect(readPrograms(source, true).map(({ program }) => program)).toEqual(['sh', 'nc']);
    expect(readPrograms(source, false)).toEqual([]);
  });

  it('tells the line', () => {
    expect(readPrograms(withImport(`\nexecFileSync('ip', []);`), false)).toEqual([
      { program: 'ip', line: 3 },
    ]);
  });
});

it.each<[rule: string, script: string, programs: string[]]>([
  ['one after another', 'mount a; umount a\nsync', ['mount', 'umount', 'sync']],
  ['after each other on condition', 'test -e x && cat x || touch x', ['cat', 'touch']],
  ['built into the shell', "trap 'exit 0' TERM; echo x; kill $$; exec cat", ['cat']],
  [
    'in loops and branches',
    'while true; do sleep 1; done; if grep -q x; then ls; fi',
    ['sleep', 'grep', 'ls'],
  ],
  ['within others', 'x=$(stat -c %a f) "$(id -u)"', ['stat', 'id']],
  ['behind redirections and variables', 'A=1 > out wc -l < in 2>&1', ['wc']],
  ['not what is quoted', `echo 'mkfs; fsck' "a | b"`, []],
  ['not what is a variable', '$program x; "$1" y', []],
])('programsOfShell: %s', (_rule, script, programs) => {
  expect(programsOfShell(script)).toEqual(programs);
});

describe('the table', () => {
  it('has each program in one package', () => {
    const all = Object.values(packages).flatMap(({ programs }) => programs);
    expect(all.filter((program, index) => all.indexOf(program) !== index)).toEqual([]);
  });

  it('has what the unit tests need beyond the smallest Debian', () => {
    expect(packagesFor('unit')).toEqual(['dbus-daemon', 'iproute2', 'iptables', 'procps']);
  });
});
