import { describe, expect, it } from 'vitest';
import type { ContainerdEvent } from '../../cri/index.js';
import { readContainerdEvent } from './event-sources.js';

const event = (topic: string, kind: ContainerdEvent['kind'], execId?: string): ContainerdEvent => ({
  topic,
  kind,
  containerId: 'c',
  timestamp: 1_500_000_000n,
  ...(execId === undefined ? {} : { execId }),
});

describe('readContainerdEvent', () => {
  it.each<[string, ContainerdEvent, object | undefined]>([
    ['a creation', event('/containers/create', 'create'), { kind: 'create' }],
    [
      'a start is left to whoever started it',
      event('/tasks/start', 'start', 'c'),
      { kind: 'start', lagMs: 1_000 },
    ],
    ['an exit: its task is deleted next', event('/tasks/exit', 'exit', 'c'), { kind: 'exit', lagMs: 100 }],
    [
      'the deletion of a task: its exit shows soon',
      event('/tasks/delete', 'delete', 'c'),
      { kind: 'exit', lagMs: 10 },
    ],
    ['a removal', event('/containers/delete', 'delete'), { kind: 'delete', lagMs: 10 }],
    ['an OOM kill', event('/tasks/oom', 'oom'), { kind: 'oom' }],
    ['a process in a container does not matter', event('/tasks/exit', 'exit', 'e'), undefined],
  ])('%s', (_rule, told, read) => {
    expect(readContainerdEvent(told)).toEqual(
      read === undefined ? undefined : { id: 'c', happenedAtMs: 1_500, ...read },
    );
  });
});
