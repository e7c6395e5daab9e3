import { describe, expect, it } from 'vitest';
import { resources } from '../../kube-client/resources.js';
import { decideApply, managersAfterUpdate } from './decide.js';
import {
  difference,
  equalSets,
  type FieldSet,
  fieldPaths,
  intersection,
  isEmptySet,
  noFields,
  readFieldSet,
  union,
  without,
  writeFieldSet,
} from './field-set.js';
import { type ManagedSet, readManagers, writeManagers } from './managers.js';

const set = (value: unknown): FieldSet => readFieldSet(value) ?? noFields;

describe('sets of fields', () => {
  const a = set({ 'f:a': {}, 'f:m': { '.': {}, 'f:x': {} }, 'f:l': { 'k:{"name":"n"}': { 'f:v': {} } } });
  const b = set({ 'f:m': { 'f:x': {}, 'f:y': {} }, 'f:b': {} });

  it.each<[string, FieldSet, unknown]>([
    [
      'together',
      union(a, b),
      {
        'f:a': {},
        'f:b': {},
        'f:l': { 'k:{"name":"n"}': { 'f:v': {} } },
        'f:m': { '.': {}, 'f:x': {}, 'f:y': {} },
      },
    ],
    ['of both', intersection(a, b), { 'f:m': { 'f:x': {} } }],
    [
      'of the first only',
      difference(a, b),
      { 'f:a': {}, 'f:l': { 'k:{"name":"n"}': { 'f:v': {} } }, 'f:m': {} },
    ],
    [
      'without a field and all below it',
      without(a, set({ 'f:m': {} })),
      { 'f:a': {}, 'f:l': { 'k:{"name":"n"}': { 'f:v': {} } } },
    ],
  ])('%s', (_name, found, expected) => expect(writeFieldSet(found)).toEqual(expected));

  it('are told as paths', () => {
    expect(fieldPaths(a)).toEqual(['.a', '.l[name="n"].v', '.m', '.m.x']);
  });

  it.each([[7], [null], [{ 'f:a': 1 }], [{ x: {} }], [deep(200)]])('%j is none', (value) => {
    expect(readFieldSet(value)).toBeUndefined();
  });
});

function deep(levels: number): unknown {
  return levels === 0 ? {} : { 'f:a': deep(levels - 1) };
}

/** The same numbers in each run. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state % below;
  };
}

describe('whatever several managers write', () => {
  it.each(Array.from({ length: 60 }, (_, seed) => seed))('holds what it must (seed %d)', (seed) => {
    const next = numbers(seed + 1);
    const data = (): Record<string, string> =>
      Object.fromEntries(
        ['a', 'b', 'c', 'd'].filter(() => next(2) === 0).map((key) => [key, String(next(2))]),
      );
    let live: { metadata: { name: string }; data?: Record<string, string> } | undefined;
    let managers: readonly ManagedSet[] = [];
    for (let step = 0; step < 30; step++) {
      const writer = { manager: `m${next(3)}`, subresource: '', time: `2026-01-01T00:00:${10 + step}Z` };
      const wanted = { metadata: { name: 'c' }, data: data() };
      if (live !== undefined && next(3) === 0) {
        managers = managersAfterUpdate(resources.configMaps, live, wanted, managers, writer);
        live = wanted;
      } else {
        const request = { resource: resources.configMaps, live, config: wanted, managers, writer };
        const polite = decideApply({ ...request, force: false });
        const outcome = decideApply({ ...request, force: true });
        if (outcome.kind !== 'applied') throw new Error('a forced apply has no conflicts');
        // Who applies without force changes no value that another owns.
        if (polite.kind === 'applied')
          expect(writeFieldSet(union(noFields, fieldsIn(polite.managers)))).toEqual(
            writeFieldSet(fieldsIn(outcome.managers)),
          );
        managers = outcome.managers;
        live = outcome.object as typeof live;
        // What was applied is there, and belongs to its manager.
        expect(live?.data ?? {}).toMatchObject(wanted.data);
        const again = decideApply({ ...request, live, managers, force: false });
        expect(again).toMatchObject({ kind: 'applied', object: live });
      }
      managers = readManagers(writeManagers(managers)) ?? [];
      // Nobody owns what is not there.
      for (const path of fieldPaths(fieldsIn(managers)).filter((one) => one.startsWith('.data.')))
        expect(live?.data ?? {}).toHaveProperty(path.slice('.data.'.length));
    }
  });
});

function fieldsIn(managers: readonly ManagedSet[]): FieldSet {
  return managers.reduce((sum, { fields }) => union(sum, fields), noFields);
}

it('managers are read as they were written', () => {
  const written = writeManagers([
    {
      manager: 'b',
      operation: 'Update',
      apiVersion: 'v1',
      subresource: 'status',
      time: '2026-01-01T00:00:00Z',
      fields: set({ 'f:status': {} }),
    },
    {
      manager: 'a',
      operation: 'Apply',
      apiVersion: 'v1',
      subresource: '',
      time: undefined,
      fields: set({ 'f:data': { '.': {}, 'f:x': {} } }),
    },
    {
      manager: 'none',
      operation: 'Apply',
      apiVersion: 'v1',
      subresource: '',
      time: undefined,
      fields: noFields,
    },
  ]);
  expect(written?.map(({ manager }) => manager)).toEqual(['a', 'b']);
  const [first] = readManagers(written) ?? [];
  expect(first !== undefined && equalSets(first.fields, set({ 'f:data': { '.': {}, 'f:x': {} } }))).toBe(
    true,
  );
  expect(readManagers([{ manager: 'x', operation: 'Delete' }])).toBeUndefined();
  expect(isEmptySet(noFields)).toBe(true);
});
