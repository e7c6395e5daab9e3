import { expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import type { Node, Pod } from '../../kube/index.js';
import { SimulatedKubeApi } from '../../kube-api/index.js';
import { resources } from '../../kube-client/index.js';
import { Link } from '../link.js';
import { CurrentNode, type CurrentNodeOptions } from './current-node.js';
import type { ClusterNode } from './node-options.js';

type Built = Pick<ClusterNode, 'informer' | 'known' | 'node'>;
const nodeOf = (source: string): Node => ({ metadata: { name: 'n1', labels: { source } } });
const sourceOf = (node: Node | undefined): string | undefined => node?.metadata.labels?.source;

function underTest() {
  const clock = new VirtualClock();
  const api = new SimulatedKubeApi({ clock });
  const node: CurrentNodeOptions['node'] = new Link<Built>('the node');
  const current = new CurrentNode({ api, clock, nodeName: 'n1', node });
  const seen: { followed?: Node | undefined } = {};
  const connect = (followed?: Node): void => {
    seen.followed = followed;
    const informer = { get: () => seen.followed, synced: async () => {} } as unknown as Built['informer'];
    node.connect({ informer, known: nodeOf('built here'), node: async () => nodeOf('awaited') });
  };
  return { api, clock, current, connect, seen };
}

it('before the node is built nothing is known of it, and nobody waits for it', async () => {
  const { current } = underTest();
  expect(current.known()).toBeUndefined();
  expect(current.followed()).toBeUndefined();
  await current.synced(new AbortController().signal);
  await expect(current.get()).rejects.toThrow('the node is not built yet');
});

it.each([
  ['the API has told of it', nodeOf('API'), 'API'],
  ['the API has not told of it', undefined, 'built here'],
])('%s', async (_rule, followed, source) => {
  const { current, connect } = underTest();
  connect(followed);
  expect(sourceOf(current.known())).toBe(source);
  expect(sourceOf(await current.get())).toBe(source);
  expect(current.followed()).toBe(followed);
});

it('is read anew for a pod that what is known would rule out', async () => {
  const { api, current, connect } = underTest();
  connect(nodeOf('API'));
  await api.create(resources.nodes, nodeOf('read anew'));
  const pod: Pod = {
    metadata: { namespace: 'default', uid: 'a', name: 'a' },
    spec: { containers: [], nodeSelector: { source: 'read anew' } },
  };
  await current.refreshFor([pod], new AbortController().signal);
  expect(sourceOf(current.known())).toBe('read anew');
});

it('pods wait until the API has the node', async () => {
  const { current, connect, seen, clock } = underTest();
  connect(undefined);
  let isSynced = false;
  const synced = current.synced(new AbortController().signal).then(() => {
    isSynced = true;
  });
  await clock.advance(5_000);
  expect(isSynced).toBe(false);
  seen.followed = nodeOf('API');
  await clock.advance(1_000);
  expect(isSynced).toBe(true);
  await synced;
});
