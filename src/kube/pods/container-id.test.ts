import { expect, it } from 'vitest';
import { apiContainerId, runtimeContainerId } from './container-id.js';

it.each([
  ['containerd://abc', 'abc'],
  ['abc', 'abc'],
  ['cri-o://a://b', 'a://b'],
])('the id in %s is %s', (text, id) => {
  expect(runtimeContainerId(text)).toBe(id);
});

it('names the runtime before the id', () => {
  expect(apiContainerId('containerd', 'abc')).toBe('containerd://abc');
});
