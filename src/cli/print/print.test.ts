import { describe, expect, it } from 'vitest';
import { LinePrefix } from './line-prefix.js';
import { podObject } from './objects.js';
import { podTableHeader, podTableRow } from './pod-table.js';
import { parseSelector } from './selector.js';
import { columnWidths, formatRows, formatTable } from './table.js';
import { yamlText } from './yaml.js';

describe('formatTable', () => {
  it('aligns columns and does not pad the last one', () => {
    expect(
      formatTable(
        ['NAME', 'AGE'],
        [
          ['a-long-name', '1s'],
          ['b', '10m'],
        ],
      ),
    ).toBe('NAME          AGE\na-long-name   1s\nb             10m\n');
  });
  it('keeps later rows in the same columns', () => {
    const widths = columnWidths(['NAME', 'AGE'], [['web', '1s']]);
    expect(formatRows([['b', '2s']], widths)).toBe('b      2s\n');
  });
  it('is empty without rows and header', () => {
    expect(formatTable(undefined, [])).toBe('');
  });
});

describe('parseSelector', () => {
  const labels = { app: 'web', tier: 'front', 'example.com/x': '' };
  it.each([
    ['an empty selector matches everything', '', true],
    ['equal', 'app=web', true],
    ['two requirements', 'app==web,tier=back', false],
    ['unequal', 'app!=web', false],
    ['unequal to a missing label', 'none!=x', true],
    ['exists', 'app', true],
    ['does not exist', '!app', false],
    ['a key with a domain and an empty value', 'example.com/x=', true],
    ['one of', 'app in (db, web),tier', true],
    ['none of', 'app notin (db,web)', false],
    ['none of, with a missing label', 'none notin (a)', true],
    ['one of, with a missing label', 'none in (a)', false],
    ['a property of every JavaScript object', 'constructor', false],
  ])('%s', (_, text, matches) => {
    expect(parseSelector(text)(labels)).toBe(matches);
  });
  it.each(['a=b=c', 'a in b', '=x', 'a>1', 'in (a)'])('refuses %s', (text) => {
    expect(() => parseSelector(text)).toThrow('unable to parse the selector');
  });
});

describe('pods', () => {
  const pod = {
    metadata: {
      uid: 'u',
      name: 'web',
      namespace: 'default',
      labels: { b: '2', a: '1' },
      creationTimestamp: '2026-01-01T00:00:00Z',
    },
    spec: { nodeName: 'n1', containers: [{ name: 'app' }], readinessGates: [{ conditionType: 'x' }] },
    status: { phase: 'Running' as const, podIP: '10.0.0.1' },
  };
  it('are rows with the requested columns', () => {
    const nowMs = Date.parse('2026-01-01T00:01:00Z');
    const all = { wide: true, allNamespaces: true, showLabels: true };
    const row = podTableRow(pod, nowMs, all);
    expect(row).toHaveLength(podTableHeader(all).length);
    expect(row).toEqual([
      'default',
      'web',
      '0/1',
      'Running',
      '0',
      '60s',
      '10.0.0.1',
      'n1',
      '<none>',
      '0/1',
      'a=1,b=2',
    ]);
    const narrow = { wide: false, allNamespaces: false, showLabels: false };
    expect(podTableHeader(narrow)).toEqual(['NAME', 'READY', 'STATUS', 'RESTARTS', 'AGE']);
    expect(podTableRow(pod, nowMs, narrow)).toHaveLength(5);
  });
  it('are objects with sorted keys: one alone, or a list', () => {
    expect(Object.keys(podObject([pod], true) as object)).toEqual(['metadata', 'spec', 'status']);
    expect(Object.keys(podObject([], false) as object)).toEqual(['apiVersion', 'items', 'kind', 'metadata']);
    expect(podObject([pod], false)).toMatchObject({ kind: 'List', items: [{ metadata: { name: 'web' } }] });
  });
  it('are YAML that quotes ambiguous strings', () => {
    expect(yamlText({ a: [{ b: 'true' }], c: '1', d: 'x: y' })).toBe('a:\n- b: "true"\nc: "1"\nd: "x: y"\n');
  });
});

describe('LinePrefix', () => {
  it('prefixes each line, wherever chunks end', () => {
    const lines = new LinePrefix('> ');
    const out = ['a', 'b\nc', '\n', 'end'].map((text) => lines.take(Buffer.from(text)).toString());
    expect([...out, lines.rest().toString()]).toEqual(['', '> ab\n', '> c\n', '', '> end']);
  });
  it('emits a line that is too long in parts', () => {
    const lines = new LinePrefix('> ');
    const part = 'x'.repeat(70_000);
    expect(lines.take(Buffer.from(part)).toString()).toBe(`> ${part}`);
    expect(lines.take(Buffer.from('y\nz\n')).toString()).toBe('y\n> z\n');
  });
});
