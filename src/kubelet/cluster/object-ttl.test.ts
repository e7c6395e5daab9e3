import { expect, it } from 'vitest';
import { annotatedTtlSeconds } from './object-ttl.js';

it.each([
  ['0', 0],
  ['300', 300],
  ['-1', undefined],
  ['1.5', undefined],
  ['', undefined],
  ['1234567890', undefined],
  [undefined, undefined],
])('the annotation %j is %j seconds', (text, seconds) => {
  const annotations = text === undefined ? undefined : { 'node.alpha.kubernetes.io/ttl': text };
  expect(annotatedTtlSeconds({ metadata: { name: 'n1', annotations } })).toBe(seconds);
});

it('a node that is not known says nothing', () => {
  expect(annotatedTtlSeconds(undefined)).toBeUndefined();
});
