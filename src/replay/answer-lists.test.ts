import { describe, expect, it } from 'vitest';
import {
  changedList,
  changeOfList,
  type KeptList,
  type ListTexts,
  listAnswer,
  listOfTexts,
} from './answer-lists.js';
import { fromJson, toJson } from './values.js';

interface Member {
  readonly id: string;
  readonly [field: string]: unknown;
}

const pod = (id: string, labels: object = { app: 'web', tier: 'front' }): Member => ({ id, labels, at: 7n });

/** What a record has of each answer, and what a replay makes of it. */
function recorded(answers: readonly (readonly Member[])[]): { changes: unknown[]; replayed: unknown[] } {
  let kept: KeptList | undefined;
  let texts: ListTexts | undefined;
  const changes: unknown[] = [];
  const replayed: unknown[] = [];
  for (const items of answers) {
    const found = changeOfList(listAnswer({ items })!, kept)!;
    kept = found.kept;
    changes.push(
      found.change?.d.map((part) => (typeof part === 'number' ? part : (part as Member).id)) ?? 'same',
    );
    // By way of the file, as text.
    if (found.change !== undefined) texts = changedList(JSON.parse(JSON.stringify(found.change)), texts);
    replayed.push(fromJson(listOfTexts(texts!)));
  }
  return { changes, replayed };
}

describe('a list in a record', () => {
  it.each<[string, readonly (readonly Member[])[], unknown]>([
    [
      'is a word when nothing has changed',
      [
        [pod('a'), pod('b')],
        [pod('a'), pod('b')],
      ],
      'same',
    ],
    [
      'is the places of its members in another order',
      [
        [pod('a'), pod('b'), pod('c')],
        [pod('c'), pod('a'), pod('b')],
      ],
      [2, 0, 1],
    ],
    [
      'has a member that has changed, and the places of the others',
      [
        [pod('a'), pod('b')],
        [pod('a', {}), pod('b')],
      ],
      ['a', 1],
    ],
    [
      'has a new member, and not one that is gone',
      [
        [pod('a'), pod('b')],
        [pod('b'), pod('c')],
      ],
      [1, 'c'],
    ],
    [
      'is the same with the fields of a member in another order',
      [[pod('a')], [pod('a', { tier: 'front', app: 'web' })]],
      'same',
    ],
    ['is the same with a field that is undefined', [[pod('a')], [{ ...pod('a'), none: undefined }]], 'same'],
    ['has a member with a field more', [[pod('a')], [{ ...pod('a'), more: null }]], ['a']],
    ['has a member with a field less', [[pod('a', { app: 'web' })], [pod('a', {})]], ['a']],
    ['tells zero from zero below nothing', [[{ id: 'a', cpu: 0 }], [{ id: 'a', cpu: -0 }]], undefined],
  ])('%s', (_, answers, last) => {
    if (last === undefined) {
      const kept = changeOfList(listAnswer({ items: answers[0] })!, undefined)!.kept;
      expect(changeOfList(listAnswer({ items: answers[1] })!, kept)).toBeUndefined();
      return;
    }
    const { changes, replayed } = recorded(answers);
    expect(changes.at(-1)).toEqual(last);
    expect(replayed).toEqual(answers.map((items) => fromJson(toJson({ items }))));
  });

  it('is compared with what was answered, whatever the kubelet did to it', () => {
    const labels: Record<string, string> = { app: 'web' };
    const { kept } = changeOfList(listAnswer({ items: [pod('a', labels)] })!, undefined)!;
    labels.app = 'other';
    expect(changeOfList(listAnswer({ items: [pod('a', { app: 'web' })] })!, kept)?.change).toBeUndefined();
    expect(changeOfList(listAnswer({ items: [pod('a', labels)] })!, kept)?.change?.d).toHaveLength(1);
  });

  it.each([
    ['no list', { id: 'a' }],
    ['a list beside something else', { items: [{ id: 'a' }], next: 'b' }],
    ['an empty list', { items: [] }],
    ['members without ids', { items: [{ name: 'a' }] }],
    ['members that are no data', { items: [new Map([['id', 'a']])] }],
  ])('is not what %s is', (_, answer) => expect(listAnswer(answer)).toBeUndefined());

  it.each([
    ['two members have one id', [{ id: 'a' }, { id: 'a' }]],
    ['a member has bytes', [{ id: 'a', content: new Uint8Array(1) }]],
  ])('is written as any other answer when %s', (_, items) =>
    expect(changeOfList(listAnswer({ items })!, undefined)).toBeUndefined(),
  );

  it('cannot be made of members that a hostile record does not have', () => {
    const before: ListTexts = { field: 'items', texts: ['{"id":"a"}'] };
    expect(changedList({ n: 'items', d: [1] }, before)).toBeUndefined();
    expect(changedList({ n: 'items', d: [-1] }, before)).toBeUndefined();
    expect(changedList({ n: 'others', d: [0] }, before)).toBeUndefined();
  });
});
