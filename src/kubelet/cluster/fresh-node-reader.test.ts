import { expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import type { Node, Pod } from '../../kube/index.js';
import { SimulatedKubeApi } from '../../kube-api/index.js';
import { resources } from '../../kube-client/index.js';
import { FreshNodeReader } from './fresh-node-reader.js';

const ref = { name: 'n1' };
const signal = new AbortController().signal;
const picky = (uid: string): Pod => ({
  metadata: { uid, name: uid, namespace: 'default' },
  spec: { containers: [], nodeSelector: { disk: 'ssd' } },
});
const labelsOf = (node: Node | undefined) => node?.metadata.labels;

async function labelled() {
  const api = new SimulatedKubeApi({ clock: new VirtualClock() });
  const stale: Node = { metadata: { name: 'n1', labels: {} } };
  await api.create(resources.nodes, { metadata: { name: 'n1', labels: { disk: 'ssd' } } });
  const gets = (): number => api.calls.filter(({ verb }) => verb === 'get').length;
  return { api, stale, gets, reread: new FreshNodeReader({ api, ref }) };
}

it('a pod that would be ruled out is judged by the node as it is in the API', async () => {
  const { reread, stale, gets } = await labelled();
  await reread.beforeAdmission([picky('a')], reread.newest(stale), signal);
  expect(labelsOf(reread.newest(stale))).toEqual({ disk: 'ssd' });
  await reread.beforeAdmission([picky('a')], stale, signal);
  expect(gets()).toBe(1);
});

it('what the watch shows afterwards is newer', async () => {
  const { reread, stale } = await labelled();
  await reread.beforeAdmission([picky('a')], reread.newest(stale), signal);
  const later: Node = { metadata: { name: 'n1', labels: { disk: 'hdd' } } };
  expect(labelsOf(reread.newest(later))).toEqual({ disk: 'hdd' });
  expect(labelsOf(reread.newest(stale))).toEqual({});
});

it('nothing is read for pods that the known node suits', async () => {
  const { reread, gets } = await labelled();
  const known: Node = { metadata: { name: 'n1', labels: { disk: 'ssd' } } };
  await reread.beforeAdmission([picky('a')], reread.newest(known), signal);
  expect(gets()).toBe(0);
});

it('without an answer the pods go on to be judged by what is known', async () => {
  const { api, reread, stale } = await labelled();
  api.setReachable(false);
  await reread.beforeAdmission([picky('a')], reread.newest(stale), signal);
  expect(reread.newest(stale)).toBe(stale);
});
