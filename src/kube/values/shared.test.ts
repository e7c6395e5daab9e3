import { describe, expect, it } from 'vitest';
import { clone } from './deep-equal.js';
import { sharingWith } from './shared.js';

const pod = () => ({
  metadata: { name: 'a', labels: { app: 'web' }, resourceVersion: '1' },
  spec: { containers: [{ name: 'c', image: 'i' }, { name: 'd' }], priority: 0 },
});

describe('sharingWith', () => {
  it('is the older one where nothing differs', () => {
    const older = pod();
    expect(sharingWith(older, pod())).toBe(older);
  });
  it('has the new value, and the old parts of what is the same', () => {
    const older = pod();
    const newer = { ...pod(), metadata: { ...pod().metadata, resourceVersion: '2' } };
    const shared = sharingWith(older, newer);
    expect(shared).toEqual(newer);
    expect(shared.spec).toBe(older.spec);
    expect(shared.metadata.labels).toBe(older.metadata.labels);
  });
  it('changes neither', () => {
    const older = pod();
    const newer = { ...pod(), spec: { ...pod().spec, priority: 1 } };
    sharingWith(older, newer);
    expect(older).toEqual(pod());
    expect(newer.spec.containers).not.toBe(older.spec.containers);
  });
  it.each<[string, unknown, unknown]>([
    ['a member more', { a: 1 }, { a: 1, b: 2 }],
    ['a member less', { a: 1, b: 2 }, { a: 1 }],
    ['an undefined member more', { a: 1 }, { a: 1, b: undefined }],
    ['an undefined member less', { a: 1, b: undefined }, { a: 1 }],
    ['another name', { a: undefined }, { b: undefined }],
    ['a longer list', [1], [1, 2]],
    ['a shorter list', [1, 2], [1]],
    ['a list for a mapping', {}, []],
    ['a mapping for a list', [], {}],
    ['null for a mapping', {}, null],
    ['a mapping for null', null, {}],
    ['a name of a prototype', {}, JSON.parse('{"__proto__": {"a": 1}, "b": {}}')],
    ['an inherited name', {}, { toString: {} }],
  ])('%s is a change', (_, older, newer) => {
    const shared = sharingWith(older, newer);
    expect(shared).toStrictEqual(newer);
    expect(Object.keys(Object(shared))).toEqual(Object.keys(Object(newer)));
  });
  it('keeps a member named __proto__ a member when others are shared', () => {
    const text = '{"__proto__": {"a": 1}, "b": {"c": 1}}';
    const shared = sharingWith({ b: { c: 1 } }, JSON.parse(text));
    expect(JSON.stringify(shared)).toBe(JSON.stringify(JSON.parse(text)));
    expect(Object.getPrototypeOf(shared)).toBe(Object.prototype);
  });
  it('always has the content of the newer value', () => {
    let state = 7;
    const random = (): number => {
      state = (state * 16_807) % 2_147_483_647;
      return state / 2_147_483_647;
    };
    const value = (depth: number): unknown => {
      const draw = Math.floor(random() * (depth === 0 ? 3 : 5));
      if (draw < 3) return [0, 'x', null][draw];
      const members = Array.from({ length: Math.floor(random() * 3) }, () => value(depth - 1));
      return draw === 3
        ? members
        : Object.fromEntries(members.map((member, index) => ['abc'[index], member]));
    };
    for (let round = 0; round < 2_000; round++) {
      const [older, newer] = [value(3), value(3)];
      const [olderBefore, newerBefore] = [clone(older), clone(newer)];
      expect(sharingWith(older, newer)).toStrictEqual(newerBefore);
      expect([older, newer]).toStrictEqual([olderBefore, newerBefore]);
    }
  });
});
