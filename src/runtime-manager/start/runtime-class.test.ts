import { expect, it } from 'vitest';
import type { Pod } from '../../kube/index.js';
import { type RuntimeClassSource, runtimeHandlerOf } from './runtime-class.js';

const classes: RuntimeClassSource = {
  async handler(name) {
    if (name === 'broken') throw new Error('no connection');
    return name === 'gvisor' ? 'runsc' : undefined;
  },
};
const pod = (runtimeClassName?: string): Pod => ({
  metadata: { uid: 'u', name: 'p', namespace: 'default' },
  spec: { containers: [], ...(runtimeClassName === undefined ? {} : { runtimeClassName }) },
});

it.each([
  ['a class', pod('gvisor'), 'runsc'],
  ['no class', pod(), ''],
  ['an empty name', pod(''), ''],
])('%s', async (_, given, handler) => {
  expect(await runtimeHandlerOf(classes)(given)).toBe(handler);
});

it('a class is ignored without a source', async () => {
  expect(await runtimeHandlerOf(undefined)(pod('gvisor'))).toBe('');
});

it('a class that does not exist or cannot be looked up is an error', async () => {
  await expect(runtimeHandlerOf(classes)(pod('x'))).rejects.toThrow('runtimeclass.node.k8s.io "x" not found');
  await expect(runtimeHandlerOf(classes)(pod('broken'))).rejects.toThrow(
    'failed to lookup RuntimeClass broken: no connection',
  );
});
