/** projected volumes. */
import { describe, expect, it } from 'vitest';
import { mountAt } from '../../src/host/index.js';
import type { PodSpec, VolumeProjection } from '../../src/kube/index.js';
import { podOf, type VolumeContract } from './volume-contract.js';

const metadata = { name: 'x', namespace: 'shop' };

export function describeProjectedVolumes(contract: VolumeContract): void {
  const projecting = (sources: VolumeProjection[], spec: Partial<PodSpec> = {}) =>
    podOf([{ name: 'all', projected: { sources } }], spec);
  const several: VolumeProjection[] = [
    { secret: { name: 'x', items: [{ key: 'k', path: 'secret/k', mode: 0o400 }] } },
    { configMap: { name: 'x' } },
    { downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } },
  ];

  describe('projected', () => {
    it('has the files of all sources; later ones win', async () => {
      const { bench } = contract;
      bench.objects.set('test', {
        secrets: [{ metadata, data: { k: 'cA==' } }],
        configMaps: [{ metadata, data: { c: '1', name: 'overwritten' } }],
      });
      const path = await bench.setUp(projecting(several));
      expect((await mountAt(bench.host, path))?.fsType).toBe('tmpfs');
      expect(await bench.names(path)).toEqual(['c', 'name', 'secret']);
      expect(await bench.text(`${path}/name`)).toBe('web');
      expect(await bench.text(`${path}/secret/k`)).toBe('p');
      expect(await bench.mode(`${path}/secret/k`)).toBe('400');
      await bench.tearDown(projecting(several));
      expect(await bench.mountsBelow()).toEqual([]);
    });

    it('is all or nothing, with all errors together', async () => {
      const { bench } = contract;
      await expect(bench.setUp(projecting(several))).rejects.toThrow(
        /^\[secret "x" not found, configmap "x" not found\]$/,
      );
      bench.objects.set('test', { secrets: [{ metadata, data: { k: 'cA==' } }] });
      await expect(bench.setUp(projecting(several))).rejects.toThrow(/^configmap "x" not found$/);
      expect(await bench.exists(`${bench.rootDir}/pods`)).toBe(false);
    });

    const token: VolumeProjection[] = [{ serviceAccountToken: { path: 'token' } }];
    const as = (runAsUser?: number, fsGroup?: number): Partial<PodSpec> => ({
      securityContext: {
        ...(runAsUser === undefined ? {} : { runAsUser }),
        ...(fsGroup === undefined ? {} : { fsGroup }),
      },
    });
    const owners: [rule: string, spec: Partial<PodSpec>, expected: string][] = [
      ['a user', as(1000), '600 1000:0'],
      ['a group', as(undefined, 10_000), '640 0:10000'],
      ['both', as(1000, 10_000), '640 1000:10000'],
      ['neither', {}, '644 0:0'],
    ];
    it('gives a token to the user that it asks for, not to that of the containers', async () => {
      const { bench } = contract;
      const source = { path: 'token', user: 2000 };
      const own = await bench.setUp(projecting([{ serviceAccountToken: source }], as(1000)));
      expect(await bench.owner(`${own}/token`)).toBe('600 2000:0');
    });

    it.each(owners)('gives a token to %s', async (_rule, spec, expected) => {
      const { bench } = contract;
      const path = await bench.setUp(projecting(token, spec));
      expect(await bench.owner(`${path}/token`)).toBe(expected);
      expect(await bench.text(`${path}/token`)).toBe('token-1');
    });

    it('follows a token that was renewed', async () => {
      const { bench } = contract;
      const path = await bench.setUp(projecting(token));
      bench.token = 'token-2';
      await bench.setUp(projecting(token), undefined, true);
      expect(await bench.text(`${path}/token`)).toBe('token-2');
    });

    it('refuses what this node has not', async () => {
      const { bench } = contract;
      const bundle = projecting([{ clusterTrustBundle: { path: 'ca', name: 'x' } }]);
      await expect(bench.setUp(bundle)).rejects.toThrow(
        'ClusterTrustBundle projection is not supported in static kubelet mode',
      );
      const certificate = projecting([{ podCertificate: { signerName: 's', keyType: 'ED25519' } }]);
      await expect(bench.setUp(certificate)).rejects.toThrow('volume "all" projects a podCertificate');
    });
  });
}
