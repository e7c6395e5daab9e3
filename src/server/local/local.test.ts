import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import type { Pod } from '../../kube/index.js';
import { Timeline } from '../../timeline/index.js';
import { podChanges } from '../watch.js';
import { knownPods } from './explain.js';
import { decideStop } from './stop.js';

const pod = (name: string, phase: 'Running' | 'Pending' = 'Running'): Pod => ({
  metadata: { name, namespace: 'default', uid: `uid-${name}` },
  spec: { containers: [] },
  status: { phase },
});

describe('podChanges', () => {
  it('reports what was added, changed and deleted, once', () => {
    const told = new Map();
    const events = (...pods: Pod[]) =>
      podChanges(told, pods).map(({ type, object }) => `${type} ${object.metadata.name}`);
    expect(events(pod('a'), pod('b', 'Pending'))).toEqual(['ADDED a', 'ADDED b']);
    expect(events(pod('a'), pod('b', 'Pending'))).toEqual([]);
    expect(events(pod('b'))).toEqual(['MODIFIED b', 'DELETED a']);
    expect(events(pod('a'), pod('b'))).toEqual(['ADDED a']);
  });
});

describe('decideStop', () => {
  const decide = (query: string) => decideStop([pod('a'), pod('b')], new URLSearchParams(query));
  it.each([
    ['nothing named', '', 400],
    ['pods and all', 'all=1&pod=default/a', 400],
    ['an unknown pod', 'pod=default/a&pod=default/x', 404],
    ['a grace period that is none', 'all=1&gracePeriodSeconds=-1', 400],
  ])('rejects %s', (_, query, status) => {
    expect(decide(query)).toMatchObject({ kind: 'refuse', response: { status } });
  });
  it('stops the named pods', () => {
    expect(decide('pod=default/b&gracePeriodSeconds=3')).toEqual({
      kind: 'stop',
      request: { pods: [{ uid: 'uid-b', name: 'b', namespace: 'default' }], gracePeriodSeconds: 3 },
    });
  });
  it('stops everything', () => {
    expect(decide('all=1')).toEqual({ kind: 'stop', request: { pods: [] } });
  });
});

describe('knownPods', () => {
  const timeline = new Timeline({ clock: new VirtualClock() });
  const say = (what: 'pod.admit' | 'pod.finished' | 'pod.delete', uid: string): void =>
    void timeline.record({
      kind: 'decision',
      what,
      message: what,
      pod: { uid, name: 'web', namespace: 'default' },
    });
  const uids = (): string[] => knownPods(timeline).map(({ pod: { uid } }) => uid);

  it('has the last touched pod last, but none that is finished after one that goes on', () => {
    say('pod.admit', 'old');
    say('pod.admit', 'new');
    say('pod.finished', 'old');
    say('pod.delete', 'old');
    expect(uids()).toEqual(['old', 'new']);
    say('pod.finished', 'new');
    expect(uids()).toEqual(['old', 'new']);
    say('pod.admit', 'old');
    expect(uids()).toEqual(['new', 'old']);
  });
});
