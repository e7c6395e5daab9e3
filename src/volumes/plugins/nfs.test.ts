import { describe, expect, it } from 'vitest';
import { mountAt, type SimulatedHostOptions, simulatedHost } from '../../host/index.js';
import type { Pod } from '../../kube/index.js';
import type { VolumeSpec } from '../contracts.js';
import { nfsVolumes } from './nfs.js';

const rootDir = '/var/lib/nodelet';
const path = `${rootDir}/pods/u/volumes/kubernetes.io~nfs/share`;
const signal = new AbortController().signal;
const pod: Pod = { metadata: { uid: 'u', name: 'p', namespace: 'default' }, spec: { containers: [] } };
const spec: VolumeSpec = {
  kind: 'inline',
  volume: { name: 'share', nfs: { server: 'fd00::1', path: '/exports', readOnly: true } },
};

async function create(options: SimulatedHostOptions = {}) {
  const host = simulatedHost(options);
  await host.files.mkdir(`${rootDir}/pods/u/volumes`, { recursive: true });
  const plugin = nfsVolumes({ host, rootDir });
  return { host, plugin, setUp: () => plugin.setUp({ pod, spec, isRemount: false, signal }) };
}

describe('nfs volumes', () => {
  it('are mounted once and unmounted by name alone', async () => {
    const { host, plugin, setUp } = await create();
    await setUp();
    await setUp();
    expect(await mountAt(host, path)).toMatchObject({ source: '[fd00::1]:/exports', fsType: 'nfs' });
    expect((await mountAt(host, path))?.options).toContain('ro');
    expect((await host.mounts.list()).filter(({ target }) => target === path)).toHaveLength(1);
    await plugin.tearDown({ podUid: 'u', innerName: 'share' });
    expect(await mountAt(host, path)).toBeUndefined();
    await expect(host.files.lstat(path)).rejects.toThrow('ENOENT');
    await plugin.tearDown({ podUid: 'u', innerName: 'share' });
  });

  it.each(['before', 'after'] as const)(
    'leave nothing behind when the mount fails (%s its effect)',
    async (when) => {
      const { host, setUp } = await create({
        faults: [
          { at: ({ operation }) => operation === 'mount', when, effect: { kind: 'fail', code: 'ETIMEDOUT' } },
        ],
      });
      await expect(setUp()).rejects.toThrow('ETIMEDOUT');
      expect(await mountAt(host, path)).toBeUndefined();
      await expect(host.files.lstat(path)).rejects.toThrow('ENOENT');
    },
  );

  it('are neither chowned to a group nor relabelled', async () => {
    const { plugin } = await create();
    expect(plugin.traits(spec)).toEqual({ managed: false, readOnly: true, relabel: false });
  });
});
