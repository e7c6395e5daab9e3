import { describe, expect, it } from 'vitest';
import type { TimelineEntry } from '../timeline/index.js';
import { matchPods } from './explain.js';

const entry = (uid: string, name: string, namespace = 'default'): TimelineEntry => ({
  seq: 1,
  timeMs: 1,
  level: 'info',
  kind: 'effect',
  what: 'agent.task',
  message: 'm',
  pod: { uid, name, namespace },
});

describe('matchPods', () => {
  const entries = [
    entry('aaaaaa1', 'web-n1'),
    entry('aaaaaa2', 'web-n1'),
    entry('bbbbbb1', 'web-db-n1'),
    entry('cccccc1', 'web-n1', 'other'),
  ];
  it.each([
    ['the name in the manifest', 'web-db', ['bbbbbb1']],
    ['a name in a namespace: its newest pod', 'default/web-n1', ['aaaaaa2']],
    ['a name in two namespaces: both pods', 'web-n1', ['aaaaaa2', 'cccccc1']],
    ['the beginning of a UID', 'aaaaaa1', ['aaaaaa1']],
    ['no match', 'nope', []],
  ])('%s', (_rule, wanted, uids) => {
    expect(matchPods(entries, wanted)).toEqual(uids);
  });
});
