/** A kubelet's volumes on a simulated machine with a simulated storage network, for tests. */
import { expect } from 'vitest';
import { type SimulatedHost, SimulatedMachine, simulatedHost } from '../../../host/index.js';
import type { Pod } from '../../../kube/index.js';
import type { VolumePlugin, VolumeSpec } from '../../contracts.js';
import { iscsiVolumes } from './index.js';
import { hastyClock, TestSan } from './test-san.js';

export const rootDir = '/var/lib/kubelet';
export const signal: AbortSignal = new AbortController().signal;
export const iqn = 'iqn.2001-04.com.example:storage';
export const global = `${rootDir}/plugins/kubernetes.io/iscsi/iface-default/10.0.0.1:3260-${iqn}-lun-0`;
export const uniqueName = `kubernetes.io/iscsi/10.0.0.1:${iqn}:0`;
export const podPath = `${rootDir}/pods/u/volumes/kubernetes.io~iscsi/pv`;
export const session = `10.0.0.1:3260 ${iqn} default`;

export const pod = (uid = 'u'): Pod => ({
  metadata: { uid, name: 'p', namespace: 'shop' },
  spec: { containers: [], securityContext: { fsGroup: 7 } },
});
export const remains = { podUid: 'u', innerName: 'pv' };
export const device = { uniqueName, innerName: 'pv' };

export function persistent(source: object, readOnly = false, name = 'pv', extra: object = {}): VolumeSpec {
  const persistentVolume = { metadata: { name }, spec: { ...source, ...extra } };
  return { kind: 'persistent', volume: { name: 'd' }, persistentVolume, readOnly };
}
export const iscsi = (fields: object = {}, readOnly = false, name = 'pv', extra: object = {}): VolumeSpec =>
  persistent({ iscsi: { targetPortal: '10.0.0.1', iqn, lun: 0, ...fields } }, readOnly, name, extra);

export interface SanKubelet {
  readonly san: TestSan;
  readonly host: SimulatedHost;
  readonly plugin: VolumePlugin;
}

export type Volumes = typeof iscsiVolumes;

export function kubelet(san: TestSan, volumes: Volumes = iscsiVolumes): SanKubelet {
  const host = simulatedHost({ machine: san.machine });
  const plugin = volumes({
    host,
    clock: hastyClock(),
    rootDir,
    runDiskTool: san.tools(host),
    readSecret: async (namespace, name) => {
      if (name !== 'chap') throw new Error('not found');
      const password = namespace === 'vault' ? 'from-vault' : 's3cret-word';
      return {
        'node.session.auth.username': 'u',
        'node.session.auth.password': password,
        'discovery.sendtargets.auth.username': 'u',
        'discovery.sendtargets.auth.password': password,
      };
    },
  });
  return { san, host, plugin };
}

export async function newSan(): Promise<TestSan> {
  const san = new TestSan(new SimulatedMachine());
  await san.begin();
  return san;
}

export async function setUp({ plugin }: SanKubelet, spec: VolumeSpec, uid = 'u'): Promise<void> {
  await plugin.devices?.attach?.(spec, pod(uid), signal);
  await plugin.devices?.mountDevice(spec, signal);
  await plugin.setUp({ pod: pod(uid), spec, isRemount: false, signal });
}

export async function takeDown({ plugin, san }: SanKubelet): Promise<void> {
  await plugin.tearDown(remains);
  await plugin.devices?.unmountDevice(device);
  await san.settle();
}

export async function mounts({ host }: SanKubelet): Promise<string[]> {
  return (await host.mounts.list()).map(({ target }) => target).filter((at) => at.startsWith(rootDir));
}

export const names = async ({ host }: SanKubelet, path: string): Promise<readonly string[]> =>
  host.files.readdir(path).catch(() => []);

export async function expectGone(on: SanKubelet, place = ''): Promise<void> {
  expect(await mounts(on), place).toEqual([]);
  expect(await names(on, `${rootDir}/plugins/kubernetes.io/iscsi`), place).toEqual([]);
  expect(await names(on, `${rootDir}/plugins/kubernetes.io~iscsi/disks`), place).toEqual([]);
  expect(await names(on, `${rootDir}/pods/u/plugins/kubernetes.io~iscsi`), place).toEqual([]);
  await expect(on.host.files.lstat(podPath), place).rejects.toThrow('ENOENT');
  expect([...on.san.sessions], place).toEqual([]);
  expect(on.san.disks, place).toEqual([]);
}
