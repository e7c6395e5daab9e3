/** What volumes cost while nothing changes: how often the machine is asked in a sync of a pod that runs. */
import { afterEach, expect, it } from 'vitest';
import type { HostCall } from '../../src/host/index.js';
import type { Volume } from '../../src/kube/index.js';
import { endNodes, second } from './node.js';
import { apiPod } from './pods.js';
import { configMap, Outside, secret, startVolumeNode } from './volume-node.js';

afterEach(endNodes);

interface Calls {
  all: number;
  /** Those of them that write, make or remove something. */
  changing: number;
}

/** What one more sync of a pod asks of the machine when all of its volumes are there. */
async function callsOfASync(volumes: readonly Volume[], restMs = 15 * second): Promise<Calls> {
  const { node, host, objects } = await startVolumeNode();
  await new Outside(host.machine).makeDirectory('/srv');
  objects.set('test', {
    configMaps: [configMap('settings', { color: 'red', size: 'xl' })],
    secrets: [secret('key', { token: 'sesame' })],
  });
  const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}` }));
  const pod = apiPod('web', {
    containers: [{ name: 'app', image: 'app:1', volumeMounts }],
    spec: { volumes: [...volumes] },
  });
  node.set([pod]);
  await node.untilReady('web');
  await node.advance(restMs);
  const calls: Calls = { all: 0, changing: 0 };
  const count = ({ changing }: HostCall): boolean => {
    calls.all++;
    if (changing) calls.changing++;
    return false;
  };
  host.inject({ at: count, when: 'before', effect: { kind: 'fail', code: 'EIO' } });
  node.put({ ...pod, metadata: { ...pod.metadata, annotations: { touched: 'yes' } } });
  await node.advance(1);
  expect(node.pod('web')?.metadata.annotations).toMatchObject({ touched: 'yes' });
  return calls;
}

const name: Volume['downwardAPI'] = {
  items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }],
};
const rows: [rule: string, volume: Volume, calls: number][] = [
  ['an emptyDir is not looked at', { name: 'v', emptyDir: {} }, 0],
  ['nor is one in memory', { name: 'v', emptyDir: { medium: 'Memory' } }, 0],
  ['nor a hostPath', { name: 'v', hostPath: { path: '/srv', type: 'Directory' } }, 0],
  ['nor what a file server has', { name: 'v', nfs: { server: 'files', path: '/a' } }, 0],
  ['a ConfigMap of two keys is compared', { name: 'v', configMap: { name: 'settings' } }, 8],
  ['a Secret is compared', { name: 'v', secret: { secretName: 'key' } }, 8],
  ['a downwardAPI is compared', { name: 'v', downwardAPI: name }, 8],
  [
    'a projection of three sources is one volume',
    {
      name: 'v',
      projected: {
        sources: [{ configMap: { name: 'settings' } }, { secret: { name: 'key' } }, { downwardAPI: name }],
      },
    },
    11,
  ],
];

it.each(rows)('%s', async (_rule, volume, expected) => {
  expect(await callsOfASync([])).toEqual({ all: 0, changing: 0 });
  expect(await callsOfASync([volume])).toEqual({ all: expected, changing: 0 });
});

it('the syncs of a pod that starts do not look again at what was just written', async () => {
  const volume: Volume = { name: 'v', configMap: { name: 'settings' } };
  expect(await callsOfASync([volume], second)).toEqual({ all: 0, changing: 0 });
});
