import { describe, expect, it } from 'vitest';
import type { ObservedPod } from '../../cri/index.js';
import type { PodParts } from './ports.js';
import { decideRelist, type RelistFacts } from './relist-decision.js';

const none: PodParts = { sandboxIds: [], containers: [] };
const made = (sandboxIds: string[], ...containers: string[]): PodParts => ({
  sandboxIds,
  containers: containers.map((id) => ({ id, sandboxId: sandboxIds[0] ?? 's' })),
});

/** A pod that was seen with these sandboxes and containers. */
function seen(sandboxIds: string[], ...containers: string[]): ObservedPod {
  return {
    uid: 'p',
    name: 'p',
    namespace: 'd',
    sandboxes: sandboxIds.map((id) => ({ id, state: 'running', attempt: 0, createdAtNs: 1n })),
    containers: containers.map((id) => ({
      id,
      name: id,
      sandboxId: 's',
      state: 'running',
      image: '',
      imageId: '',
      hash: '',
      createdAtNs: 1n,
    })),
    observedAtMs: 0,
  };
}

const own = { reason: 'own', hasRelisted: true, known: undefined, created: none } as const;

describe('a pod relist lists', () => {
  it.each<[string, RelistFacts]>([
    ['when there may be something unknown', { ...own, reason: 'any', known: seen(['s'], 'c') }],
    ['before the first relist', { ...own, hasRelisted: false, created: made(['s'], 'c') }],
    ['when nothing is known and nothing was created', own],
    ['when no sandbox is known', { ...own, known: seen([], 'c') }],
    ['when there is too much to read', { ...own, known: seen(['s'], 'a', 'b', 'c', 'd', 'e', 'f') }],
  ])('%s', (_, facts) => {
    expect(decideRelist(facts)).toEqual({ kind: 'list' });
  });
});

describe('a pod relist reads by id', () => {
  it.each<[string, Partial<RelistFacts>, string[], string[]]>([
    ['what was just created', { created: made(['s'], 'c') }, ['s'], ['c']],
    ['a sandbox without containers', { created: made(['s']) }, ['s'], []],
    ['what was seen before', { known: seen(['s'], 'c') }, ['s'], ['c']],
    ['both, each once', { known: seen(['s'], 'a'), created: made(['s'], 'a', 'b') }, ['s'], ['a', 'b']],
    [
      'an old sandbox beside a new one',
      { known: seen(['s'], 'a'), created: made(['t'], 'b') },
      ['t', 's'],
      ['b', 'a'],
    ],
  ])('%s', (_, facts, sandboxIds, containers) => {
    const decision = decideRelist({ ...own, ...facts });
    if (decision.kind !== 'read') throw new Error('it lists');
    expect(decision.parts.sandboxIds).toEqual(sandboxIds);
    expect(decision.parts.containers.map(({ id }) => id)).toEqual(containers);
  });
  it('with the sandbox of each container', () => {
    const decision = decideRelist({ ...own, known: seen(['s'], 'a'), created: made(['t'], 'b') });
    expect(decision).toMatchObject({
      parts: {
        containers: [
          { id: 'b', sandboxId: 't' },
          { id: 'a', sandboxId: 's' },
        ],
      },
    });
  });
});
