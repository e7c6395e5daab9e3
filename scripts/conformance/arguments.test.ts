import { describe, expect, it } from 'vitest';
import { readArguments } from './arguments.js';

const there = ['/bin/e2e.test', '/images', '/bin/kubelet'];
const read = (...argv: string[]) => readArguments(argv, (path) => there.includes(path));
const needed = ['--e2e', '/bin/e2e.test', '--images', '/images'];

describe('the command line of the conformance run', () => {
  it('runs all node conformance specs, four at a time, when only the program and the images are given', () => {
    expect(read(...needed)).toEqual({
      kind: 'run',
      options: {
        e2e: '/bin/e2e.test',
        images: '/images',
        focus: '\\[NodeConformance\\]',
        procs: 4,
        bare: false,
      },
    });
  });

  it('takes every flag', () => {
    const flags = [
      '--focus',
      'Probing',
      '--skip',
      'Slow',
      '--procs',
      '6',
      '--kubelet',
      '/bin/kubelet',
      '--report',
      '/r',
    ];
    expect(read(...needed, ...flags)).toMatchObject({
      options: { focus: 'Probing', skip: 'Slow', procs: 6, kubelet: '/bin/kubelet', report: '/r' },
    });
  });

  it('runs against a node without a control plane', () => {
    expect(read(...needed, '--bare')).toMatchObject({ kind: 'run', options: { bare: true } });
  });

  it.each<[string, string[], string[]]>([
    [
      'refuses another kubelet for a node that is one process',
      [...needed, '--bare', '--kubelet', '/bin/kubelet'],
      ['--kubelet: with --bare the API and the kubelet are one process; leave one of the two out'],
    ],
    [
      'says what to give when nothing is given',
      [],
      [
        '--e2e is missing: give the path of the Kubernetes e2e test program',
        '--images is missing: give the directory with the archives of the images that the specs run',
      ],
    ],
    [
      'names a path that leads nowhere',
      ['--e2e', '/gone', '--images', '/images'],
      ['--e2e /gone: not found; give the path of the Kubernetes e2e test program'],
    ],
    [
      'refuses no processes at all',
      [...needed, '--procs', '0'],
      ['--procs 0: give a whole number from 1 to 64'],
    ],
    [
      'refuses words for a number',
      [...needed, '--procs', 'x'],
      ['--procs x: give a whole number from 1 to 64'],
    ],
  ])('%s', (_rule, argv, problems) => {
    expect(read(...argv)).toEqual({ kind: 'wrong', problems });
  });

  it.each([
    ['an expression that cannot be read', [...needed, '--focus', '(']],
    ['an unknown flag', [...needed, '--fokus', 'x']],
    ['a stray word', [...needed, 'Probing']],
  ])('refuses %s', (_rule, argv) => {
    expect(read(...argv).kind).toBe('wrong');
  });

  it('shows its flags when asked', () => {
    expect(read('--help')).toEqual({ kind: 'help' });
  });
});
