import { expect, it } from 'vitest';
import { LocalNode } from './local-node.js';

it('is built when it is first asked for, and again only on demand', async () => {
  let built = 0;
  const local = new LocalNode(async () => ({ metadata: { name: `n${++built}` } }));
  expect(local.known).toBeUndefined();
  expect((await local.get()).metadata.name).toBe('n1');
  expect((await local.get()).metadata.name).toBe('n1');
  await local.rebuild();
  expect(local.known?.metadata.name).toBe('n2');
});
