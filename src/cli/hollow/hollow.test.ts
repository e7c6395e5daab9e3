import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import { parseCommandFlags } from '../client/flags.js';
import { groupsOf, nameTemplateOf, profileOfFlags } from './groups.js';
import { parseHollowArguments, profileFlags } from './options.js';
import { ProblemPrinter } from './problem-printer.js';
import { reportText } from './report-text.js';

const env = { HOME: '/home/me', KUBECONFIG: '/etc/a:/etc/b' };

describe('the command line', () => {
  it('has defaults', () => {
    expect(parseHollowArguments(['--nodes', '5'], env)).toMatchObject({
      count: 5,
      kubeconfig: '/etc/a',
      nodesPerSecond: 20,
      threads: 1,
      firstPort: 0,
      servesKubeletApi: true,
      recordsEvents: true,
      sharesWatches: true,
      deletesNodes: false,
    });
  });
  it.each([
    ['neither nodes nor profiles', [], '--nodes, or what they are with --profiles'],
    ['both', ['--nodes', '1', '--profiles', 'f'], '--nodes, or what they are with --profiles'],
    ['no number', ['--nodes', 'many'], 'invalid argument "many" for --nodes'],
    ['no nodes', ['--nodes', '0'], '--nodes must be at least 1'],
    ['an unknown flag', ['--nods', '1'], 'unknown flag: --nods; did you mean --nodes?'],
    ['an unknown command', ['explode', '--nodes', '1'], 'unknown command "explode"'],
    ['ports without an API', ['--nodes', '1', '--no-kubelet-api', '--first-port', '1'], 'opens no ports'],
    ['too few ports', ['--nodes', '10', '--first-port', '65530'], 'leaves no ports for 10 nodes'],
    ['too many threads', ['--nodes', '1', '--threads', '65'], 'at most 64 can be'],
    ['half a certificate', ['--nodes', '1', '--tls-cert-file', 'c'], 'or neither'],
  ])('%s is refused', (_, argv, message) => {
    expect(() => parseHollowArguments(argv, env)).toThrow(message);
  });
});

describe('what the nodes are', () => {
  const flags = (...argv: string[]) => parseCommandFlags(argv, profileFlags).values;

  it('is what the flags say', () => {
    const given = flags(
      '--cpu=4',
      '--memory=8Gi',
      '--labels=a=b,c=',
      '--labels=d=e',
      '--taints=x=y:NoSchedule,z:NoExecute',
    );
    expect(profileOfFlags(given)).toMatchObject({
      cpus: 4,
      memoryBytes: 8 * 1024 ** 3,
      pods: 110,
      labels: { a: 'b', c: '', d: 'e' },
      taints: [
        { key: 'x', value: 'y', effect: 'NoSchedule' },
        { key: 'z', effect: 'NoExecute' },
      ],
    });
  });
  it.each([
    ['--cpu=500m', '--cpu: "500m" is not a whole number of CPUs'],
    ['--ephemeral-storage=x', '--ephemeral-storage: "x" is not an amount of disk'],
    ['--labels=a b=c', '--labels: '],
    ['--taints=a', '--taints: "" is no effect'],
    ['--architecture=pdp11', '--architecture: "pdp11" is no architecture'],
  ])('%s is refused', (flag, message) => {
    expect(() => profileOfFlags(flags(flag))).toThrow(message);
  });
  it.each([
    [[], 'hollow-{index}'],
    [['--name-prefix=a-'], 'a-{index}'],
    [['--node-name-template={index}.rack'], '{index}.rack'],
  ])('names of %j', (argv, template) => {
    expect(nameTemplateOf(flags(...argv))).toBe(template);
  });
  it.each([
    [['--name-prefix=a', '--node-name-template={index}'], 'not both'],
    [['--name-prefix=A'], '--name-prefix A: makes no names of nodes'],
    [['--node-name-template=rack'], 'must have {index} once'],
  ])('names of %j are refused', (argv, message) => {
    expect(() => nameTemplateOf(flags(...argv))).toThrow(message);
  });
  it('a file that is wrong is told with its place', async () => {
    const dir = mkdtempSync(path.join(tmpdir(), 'nodelet-hollow-'));
    const file = path.join(dir, 'fleet.yaml');
    try {
      writeFileSync(file, 'nodes:\n- cpu: 0\n');
      await expect(groupsOf(undefined, flags(`--profiles=${file}`))).rejects.toThrow(
        `${file}:2: nodes[0].cpu: `,
      );
      await expect(groupsOf(undefined, flags('--profiles=/not/there'))).rejects.toThrow(
        '--profiles /not/there: ',
      );
    } finally {
      rmSync(dir, { recursive: true });
    }
  });
});

it('one trouble of many nodes is one line', async () => {
  const clock = new VirtualClock();
  const lines: string[] = [];
  const printer = new ProblemPrinter((line) => lines.push(line), clock);
  for (let index = 0; index < 1000; index++) printer.tell(`n-${index}`, `the port of n-${index} is taken`);
  printer.tell('', 'the API server is away');
  await clock.advance(1_000);
  expect(lines).toEqual([
    'nodelet hollow: n-0 and 999 more: the port of NODE is taken',
    'nodelet hollow: the API server is away',
  ]);
  for (let index = 0; index < 150; index++) printer.tell('n', `trouble ${index}`);
  printer.close();
  expect(lines.at(-1)).toBe('nodelet hollow: and 50 other problems');
  expect(clock.pendingTimers).toBe(0);
});

it('a report has counts by state, and the nodes that need a look', () => {
  const node = (name: string, state: 'ready' | 'dead', pods: number) => ({
    name,
    state,
    pods,
    port: 10_250,
    problem: undefined,
  });
  const report = {
    nodes: [node('a', 'ready', 3), node('b', 'ready', 4), node('c', 'dead', 0)],
    watches: { opened: 5, served: 15 },
    pid: 7,
    rssBytes: 100 * 1024 ** 2,
    cpuMs: 1500,
    upMs: 60_000,
  };
  expect(reportText(report, false)).toBe(`STATE   NODES   PODS
READY   2       7
DEAD    1       0

NODE   STATE   PODS   PORT    PROBLEM
c      DEAD    0      10250   -

process 7: up 60s, 100 MiB, 1.5 s of CPU, 5 watches for 15 of the nodes
`);
  expect(reportText(report, true)).toContain('a      READY');
});
