import { describe, expect, it } from 'vitest';
import { boxAt, itemByKey, laneItems } from './lane-items.js';

describe('laneItems', () => {
  const span = (fromMs: number, toMs: number | undefined) =>
    ({ kind: 'running', fromMs, toMs, label: 'Running', because: undefined }) as const;
  const mark = { timeMs: 150, label: 'probe failed', because: undefined, problem: true };
  const lane = { name: 'app', container: true } as const;

  it('has what lies between the moments, in the order of time, with places as parts', () => {
    const items = laneItems(
      { ...lane, spans: [span(0, 50), span(50, 200), span(180, undefined), span(400, 500)], marks: [mark] },
      100,
      300,
    );
    expect(items.map(({ kind, leftPart, widthPart }) => [kind, leftPart, widthPart])).toEqual([
      ['running', 0, 0.5],
      ['mark', 0.25, 0],
      ['running', 0.4, 0.6],
    ]);
  });

  it('gives each item a key of its own, and keeps it as the item goes on', () => {
    const keysAt = (toMs: number): string[] =>
      laneItems({ ...lane, spans: [span(120, undefined)], marks: [mark, mark] }, 100, toMs).map(
        ({ key }) => key,
      );
    expect(new Set(keysAt(300)).size).toBe(3);
    expect(keysAt(300)).toEqual(keysAt(900));
  });
});

describe('itemByKey', () => {
  it.each([
    ['ArrowRight', 1, 2],
    ['ArrowRight', 2, 2],
    ['ArrowLeft', 0, 0],
    ['Home', 2, 0],
    ['End', 0, 2],
    ['Tab', 1, undefined],
  ])('%s at %i of 3: %s', (key, at, expected) => {
    expect(itemByKey(key, at, 3)).toBe(expected);
  });
});

describe('boxAt', () => {
  const wide = { left: 0, right: 500, top: 0, bottom: 20 };
  const narrow = { left: 100, right: 103, top: 0, bottom: 20 };
  it.each([
    ['on the wide one', [wide, narrow], 300, 10, 0],
    ['beside the narrow one', [wide, narrow], 108, 10, 1],
    ['far from all', [narrow, { ...narrow, left: 400, right: 403 }], 300, 10, 1],
    ['of none', [], 1, 1, undefined],
  ])('%s', (_, boxes, x, y, expected) => {
    expect(boxAt(boxes, x, y)).toBe(expected);
  });
});
