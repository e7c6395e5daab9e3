/** configMap, secret and downwardAPI volumes. */
import { describe, expect, it } from 'vitest';
import { mountAt } from '../../src/host/index.js';
import type { PodSpec, Volume } from '../../src/kube/index.js';
import { podOf, type VolumeContract } from './volume-contract.js';

const named = (name: string, namespace = 'shop') => ({ metadata: { name, namespace } });
const base64 = (text: string) => Buffer.from(text).toString('base64');

export function describeObjectVolumes(contract: VolumeContract): void {
  const configMapPod = (configMap: Volume['configMap'] = {}, spec: Partial<PodSpec> = {}) =>
    podOf([{ name: 'config', configMap: { name: 'settings', ...configMap } }], spec);
  const give = (data: Record<string, string>, more = {}) =>
    contract.bench.objects.set('test', { configMaps: [{ ...named('settings'), data, ...more }] });

  describe('configMap', () => {
    it('has a file for each key, the bytes exact', async () => {
      const { bench } = contract;
      const bytes = Buffer.from([0, 1, 254, 255]);
      give({ a: '1\n' }, { binaryData: { b: bytes.toString('base64') } });
      const path = await bench.setUp(configMapPod());
      expect(path).toBe(`${bench.rootDir}/pods/pod-uid/volumes/kubernetes.io~configmap/config`);
      expect(await bench.names(path)).toEqual(['a', 'b']);
      expect(await bench.text(`${path}/a`)).toBe('1\n');
      expect(Buffer.from(await bench.host.files.readFile(`${path}/b`))).toEqual(bytes);
      expect(await bench.owner(`${path}/a`)).toBe('644 0:0');
      expect(await bench.mode(path)).toBe('777');
      expect(await bench.mode(`${path}/..data`)).toBe('755');
      expect(await mountAt(bench.host, path)).toBeUndefined();
    });

    it('has the modes that it asks for', async () => {
      const { bench } = contract;
      give({ a: '1', 'data-2': '2' });
      const items = [
        { key: 'a', path: 'a' },
        { key: 'data-2', path: 'path/to/data-2', mode: 0o400 },
      ];
      const path = await bench.setUp(configMapPod({ items, defaultMode: 0o640 }));
      expect(await bench.mode(`${path}/a`)).toBe('640');
      expect(await bench.mode(`${path}/path/to/data-2`)).toBe('400');
      expect(await bench.host.files.readlink(`${path}/path`)).toBe('..data/path');
    });

    it('has the owners that it asks for', async () => {
      const { bench } = contract;
      give({ a: '1', b: '2' });
      const items = [
        { key: 'a', path: 'a' },
        { key: 'b', path: 'b', user: 2000 },
      ];
      const path = await bench.setUp(configMapPod({ items, defaultUser: 1000, defaultMode: 0o400 }));
      expect(await bench.owner(`${path}/a`)).toBe('400 1000:0');
      expect(await bench.owner(`${path}/b`)).toBe('400 2000:0');
    });

    it('belongs to the group of the pod', async () => {
      const { bench } = contract;
      give({ a: '1' });
      const pod = configMapPod({ defaultMode: 0o400 }, { securityContext: { fsGroup: 1001 } });
      const path = await bench.setUp(pod);
      expect(await bench.owner(path)).toBe('2777 0:1001');
      expect(await bench.owner(`${path}/..data`)).toBe('2755 0:1001');
      expect(await bench.owner(`${path}/a`)).toBe('440 0:1001');
      give({ a: '2' });
      await bench.setUp(pod, undefined, true);
      expect(await bench.owner(path)).toBe('2777 0:1001');
      expect(await bench.owner(`${path}/..data`)).toBe('2755 0:1001');
      expect(await bench.owner(`${path}/a`)).toBe('440 0:1001');
    });

    it('is written anew only when something changed', async () => {
      const { bench } = contract;
      const link = async () => bench.host.files.readlink(`${path}/..data`);
      give({ a: '1', c: '3' });
      const path = await bench.setUp(configMapPod());
      const first = await link();
      for (let round = 0; round < 3; round++) await bench.setUp(configMapPod(), undefined, true);
      expect(await link()).toBe(first);
      await bench.host.files.unlink(`${path}/a`);
      await bench.setUp(configMapPod(), undefined, true);
      expect(await link()).toBe(first);
      expect(await bench.text(`${path}/a`)).toBe('1');
      give({ b: '2', c: '4' });
      await bench.setUp(configMapPod(), undefined, true);
      expect(await bench.names(path)).toEqual(['b', 'c']);
      expect(await bench.text(`${path}/c`)).toBe('4');
      expect(await bench.exists(`${path}/${first}`)).toBe(false);
    });

    it('without its object is refused, and nothing is made', async () => {
      const { bench } = contract;
      await expect(bench.setUp(configMapPod())).rejects.toThrow(/^configmap "settings" not found$/);
      give({ a: '1' });
      const items = [{ key: 'data-4', path: 'x' }];
      await expect(bench.setUp(configMapPod({ items }))).rejects.toThrow(
        /^configmap references non-existent config key: data-4$/,
      );
      expect(await bench.exists(`${bench.rootDir}/pods`)).toBe(false);
    });

    it('that is optional comes and goes with its object', async () => {
      const { bench } = contract;
      const pod = configMapPod({ optional: true });
      const path = await bench.setUp(pod);
      expect(await bench.names(path)).toEqual([]);
      expect(await bench.exists(`${path}/..data`)).toBe(true);
      give({ a: '1' });
      await bench.setUp(pod, undefined, true);
      expect(await bench.names(path)).toEqual(['a']);
      bench.objects.remove('test');
      await bench.setUp(pod, undefined, true);
      expect(await bench.names(path)).toEqual([]);
    });

    it('keeps its files when its object goes or no longer fits', async () => {
      const { bench } = contract;
      give({ a: '1' });
      const path = await bench.setUp(configMapPod());
      bench.objects.remove('test');
      await expect(bench.setUp(configMapPod(), undefined, true)).rejects.toThrow('not found');
      expect(await bench.text(`${path}/a`)).toBe('1');
      const items = [{ key: 'b', path: '../b' }];
      give({ b: '2' });
      await expect(bench.setUp(configMapPod({ items }), undefined, true)).rejects.toThrow(
        "must not contain '..'",
      );
      expect(await bench.text(`${path}/a`)).toBe('1');
    });

    it('whose first write fails leaves nothing', async () => {
      const { bench } = contract;
      give({ a: '1' });
      const items = [{ key: 'a', path: '../a' }];
      await expect(bench.setUp(configMapPod({ items }))).rejects.toThrow("must not contain '..'");
      expect(await bench.exists(`${bench.rootDir}/pods/pod-uid/volumes/kubernetes.io~configmap/config`)).toBe(
        false,
      );
    });

    it('that is immutable stays as it was read first', async () => {
      const { bench } = contract;
      give({ a: '1' }, { immutable: true });
      const path = await bench.setUp(configMapPod());
      give({ a: '2' });
      await bench.setUp(configMapPod(), undefined, true);
      expect(await bench.text(`${path}/a`)).toBe('1');
    });

    it('has the places for mounts within it', async () => {
      const { bench } = contract;
      give({ a: '1' });
      const volumeMounts = [
        { name: 'config', mountPath: '/etc/config' },
        { name: 'other', mountPath: '/etc/config/a' },
        { name: 'other', mountPath: '/etc/config/sub/dir' },
      ];
      const containers = [{ name: 'app', image: 'app:1', volumeMounts }];
      const path = await bench.setUp(configMapPod({}, { containers }));
      expect((await bench.host.files.lstat(`${path}/a`)).kind).toBe('directory');
      expect(await bench.mode(`${path}/sub/dir`)).toBe('755');
      await bench.setUp(configMapPod({}, { containers }), undefined, true);
      expect(await bench.names(path)).toEqual(['a', 'sub']);
    });
  });

  describe('secret', () => {
    const secretPod = (secret: Volume['secret'] = {}, spec: Partial<PodSpec> = {}) =>
      podOf([{ name: 'keys', secret: { secretName: 'keys', ...secret } }], spec);

    it('is in memory, and of its own namespace', async () => {
      const { bench } = contract;
      bench.objects.set('test', {
        secrets: [
          { ...named('keys'), data: { k: base64('own') } },
          { ...named('keys', 'other'), data: { k: base64('foreign') } },
        ],
      });
      const path = await bench.setUp(secretPod());
      expect((await mountAt(bench.host, path))?.fsType).toBe('tmpfs');
      expect(await bench.text(`${path}/k`)).toBe('own');
      expect(await bench.mode(path)).toBe('1777');
      const { traits } = bench.plugin({ kind: 'inline', volume: { name: 'keys', secret: {} } });
      expect(traits({ kind: 'inline', volume: { name: 'keys' } }).readOnly).toBe(true);
      await bench.tearDown(secretPod());
      expect(await bench.mountsBelow()).toEqual([]);
      expect(await bench.exists(path)).toBe(false);
      await bench.tearDown(secretPod());
    });

    it('belongs to the group of the pod', async () => {
      const { bench } = contract;
      bench.objects.set('test', { secrets: [{ ...named('keys'), data: { k: base64('x') } }] });
      const path = await bench.setUp(secretPod({ defaultMode: 0o400 }, { securityContext: { fsGroup: 7 } }));
      expect(await bench.owner(path)).toBe('3777 0:7');
      expect(await bench.owner(`${path}/k`)).toBe('440 0:7');
    });

    it('without its object is refused; files of a running pod stay', async () => {
      const { bench } = contract;
      await expect(bench.setUp(secretPod())).rejects.toThrow(/^secret "keys" not found$/);
      bench.objects.set('test', { secrets: [{ ...named('keys'), data: { k: base64('p4ss') } }] });
      const items = [{ key: 'none', path: 'x' }];
      await expect(bench.setUp(secretPod({ items }))).rejects.toThrow(
        /^references non-existent secret key: none$/,
      );
      const path = await bench.setUp(secretPod());
      bench.objects.remove('test');
      await expect(bench.setUp(secretPod(), undefined, true)).rejects.toThrow('not found');
      expect(await bench.text(`${path}/k`)).toBe('p4ss');
    });
  });

  describe('downwardAPI', () => {
    it('follows the labels of the pod', async () => {
      const { bench } = contract;
      const pod = podOf([
        {
          name: 'info',
          downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] },
        },
      ]);
      const path = await bench.setUp(pod);
      expect(await bench.text(`${path}/labels`)).toBe('key1="value1"');
      expect((await mountAt(bench.host, path))?.fsType).toBe('tmpfs');
      const relabelled = { ...pod, metadata: { ...pod.metadata, labels: { key1: 'value1', key2: 'b' } } };
      await bench.setUp(relabelled, undefined, true);
      expect(await bench.text(`${path}/labels`)).toBe('key1="value1"\nkey2="b"');
    });

    it('has no addresses', async () => {
      const { bench } = contract;
      const item = { path: 'ip', fieldRef: { fieldPath: 'status.podIP' } };
      const pod = podOf([{ name: 'info', downwardAPI: { items: [item] } }]);
      await expect(bench.setUp(pod)).rejects.toThrow('unsupported fieldPath: status.podIP');
    });
  });
}
