import { describe, expect, it } from 'vitest';
import { parseCommandFlags } from './client/flags.js';
import { execQuery, execRequest } from './exec.js';
import { getRequest, getSpec } from './get.js';
import { logsRequest, logsSpec } from './logs.js';
import { containerLines, containerTable } from './ps.js';
import { gracePeriod, stopSpec } from './stop.js';

describe('logs', () => {
  const request = (line: string) => {
    const { values, positionals } = parseCommandFlags(line.split(' '), logsSpec.flags);
    return logsRequest(values, positionals);
  };
  it.each([
    ['without flags', 'web', ''],
    ['following the last lines', '-f --tail=3 web', 'follow=true&tailLines=3'],
    ['all lines by number', '--tail -1 web', ''],
    ['since a duration', '--since 1m30s web', 'sinceSeconds=90'],
    ['since less than a second', '--since 10ms web', 'sinceSeconds=1'],
    ['since a time', '--since-time 2026-01-02T15:04:05Z web', 'sinceTime=2026-01-02T15%3A04%3A05Z'],
    [
      'the previous instance',
      '-p --timestamps --limit-bytes 10 web',
      'previous=true&timestamps=true&limitBytes=10',
    ],
  ])('requests logs: %s', (_, line, query) => {
    expect(request(line)).toMatchObject({ podName: 'web', query });
  });
  it.each([
    ['two containers', 'web app -c app', 'name the container once'],
    ['all and one', 'web --all-containers -c app', 'exclude each other'],
    ['two start times', 'web --since 1s --since-time 2026-01-02T15:04:05Z', 'at most one of'],
    ['a duration without a unit', 'web --since 5', '--since: missing unit'],
    ['a wrong time', 'web --since-time yesterday', 'write a time as'],
    ['too many names', 'web app more', 'more is too much'],
  ])('refuses %s', (_, line, message) => {
    expect(() => request(line)).toThrow(message);
  });
});

describe('get', () => {
  const request = (line: string) => {
    const { values, positionals } = parseCommandFlags(line === '' ? [] : line.split(' '), getSpec.flags);
    return getRequest(values, positionals);
  };
  it.each([
    ['no arguments: all pods of the default namespace', '', { names: [], namespace: 'default' }],
    ['all namespaces', 'pods -A', { names: [], namespace: undefined }],
    ['names are searched in all namespaces', 'pod web db', { names: ['web', 'db'], namespace: undefined }],
    ['the kind is optional', 'web -n x', { names: ['web'], namespace: 'x' }],
    ['a format', 'po -oyaml', { format: 'yaml' }],
  ])('%s', (_, line, expected) => {
    expect(request(line)).toMatchObject(expected);
  });
  it('refuses kinds that a run does not have', () => {
    expect(() => request('nodes')).toThrow('only pods can be shown, not nodes: nodelet get pods');
    expect(request('pod all')).toMatchObject({ names: ['all'] });
  });
  it('refuses a name with a selector', () => {
    expect(() => request('pod web -l a=b')).toThrow('name cannot be provided when a selector is specified');
  });
});

describe('exec', () => {
  it('puts each word of the command into the query', () => {
    expect(execQuery(['sh', '-c', 'echo a&b'], true, false)).toBe(
      'command=sh&command=-c&command=echo+a%26b&input=1&output=1&error=1',
    );
    expect(execQuery(['sh'], true, true)).toBe('command=sh&input=1&output=1&tty=1');
  });
  it.each([
    ['no pod', [], ['ls'], 'name a pod'],
    ['no command', ['web'], undefined, 'at least one command'],
    ['no --', ['web', 'ls', 'x'], undefined, 'nodelet exec web -- ls x'],
  ])('refuses %s', (_, positionals, rest, message) => {
    expect(() => execRequest(positionals, rest)).toThrow(message);
  });
});

describe('stop', () => {
  it.each([
    ['the default of the pods', '', undefined],
    ['a number', '--grace-period=5', 5],
    ['at once', '--grace-period 0', 0],
    ['-1 is the default of the pods', '--grace-period -1', undefined],
    ['now', '--now', 1],
  ])('takes the grace period: %s', (_, line, seconds) => {
    expect(gracePeriod(parseCommandFlags(line === '' ? [] : line.split(' '), stopSpec.flags).values)).toBe(
      seconds,
    );
  });
});

describe('ps', () => {
  const pod = {
    metadata: { uid: 'u', name: 'web', namespace: 'x' },
    spec: {
      containers: [
        { name: 'app', image: 'a:1' },
        { name: 'new', image: 'b' },
      ],
      initContainers: [{ name: 'i' }],
    },
    status: {
      containerStatuses: [
        {
          name: 'app',
          image: 'resolved',
          imageID: '',
          ready: true,
          restartCount: 2,
          containerID: 'containerd://0123456789abcdef',
          state: { running: { startedAt: '2026-01-01T00:00:00Z' } },
        },
      ],
      initContainerStatuses: [
        {
          name: 'i',
          image: '',
          imageID: '',
          ready: false,
          restartCount: 0,
          state: { terminated: { exitCode: 3 } },
        },
      ],
    },
  };
  it('shows every container of the spec with its state', () => {
    const table = containerTable(containerLines('r', pod), Date.parse('2026-01-01T00:00:09Z'), {
      wholeIds: false,
      showRun: true,
    });
    expect(table.split('\n').map((line) => line.split(/ {3,}/))).toEqual([
      ['RUN', 'CONTAINER ID', 'POD', 'CONTAINER', 'IMAGE', 'STATE', 'SINCE', 'RESTARTS'],
      ['r', '0123456789abc', 'x/web', 'app', 'a:1', 'Running', '9s', '2'],
      ['r', '-', 'x/web', 'new', 'b', 'Waiting', '-', '0'],
      ['r', '-', 'x/web', 'i (init)', '-', 'Exited (3)', '-', '0'],
      [''],
    ]);
  });
});
