/** A local volume on a real disk: a loop device over a file. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync, statfsSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../async/index.js';
import { linuxHost, mountAt } from '../../host/index.js';
import type { Pod } from '../../kube/index.js';
import { FileSystemMismatch, type VolumePlugin, type VolumeSpec } from '../contracts.js';
import { diskTools } from './disk-tools.js';
import { localVolumes } from './local.js';

const signal = new AbortController().signal;
describe('a local volume on a disk', () => {
  const host = linuxHost();
  let directory: string;
  let device: string;
  let plugin: VolumePlugin;

  beforeEach(() => {
    directory = realpathSync(mkdtempSync('/var/tmp/nodelet-disk-'));
    writeFileSync(join(directory, 'image'), '');
    truncateSync(join(directory, 'image'), 16 * 1024 * 1024);
    device = execFileSync('losetup', ['-f', '--show', join(directory, 'image')])
      .toString()
      .trim();
    plugin = localVolumes({
      host,
      clock: systemClock,
      rootDir: directory,
      runDiskTool: diskTools(systemClock),
    });
  });
  afterEach(async () => {
    const left = (await host.mounts.list()).filter(({ target }) => target.startsWith(`${directory}/`));
    for (const { target } of left.toReversed()) await host.mounts.unmount(target);
    execFileSync('losetup', ['-d', device]);
    rmSync(directory, { recursive: true });
  });

  const on = (readOnly: boolean): VolumeSpec => ({
    kind: 'persistent',
    volume: { name: 'data' },
    persistentVolume: { metadata: { name: 'pv' }, spec: { local: { path: device } } },
    readOnly,
  });
  const pod: Pod = {
    metadata: { uid: 'u', name: 'p', namespace: 'default' },
    spec: { containers: [], securityContext: { fsGroup: 5 } },
  };

  it('says of a disk that cannot be mounted that it has another file system', async () => {
    execFileSync('mkfs.ext4', ['-q', device]);
    const spec = on(false);
    if (spec.kind !== 'persistent') throw new Error('the volume is not persistent');
    const local = { path: device, fsType: 'vfat' };
    const { persistentVolume } = spec;
    const asked = { ...spec, persistentVolume: { ...persistentVolume, spec: { local } } };
    const failure = await plugin.devices?.mountDevice(asked, signal).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(FileSystemMismatch);
    expect(String(failure)).toContain('mount failed');
  });

  it('formats an empty disk once, mounts it once, and releases it', async () => {
    const spec = on(false);
    const path = plugin.hostPath(spec, 'u') ?? '';
    await plugin.devices?.mountDevice(spec, signal);
    await plugin.devices?.mountDevice(spec, signal);
    await plugin.setUp({ pod, spec, isRemount: false, signal });
    expect((await mountAt(host, path))?.fsType).toBe('ext4');
    expect((await host.files.stat(path)).gid).toBe(5);
    await host.files.writeFile(`${path}/file`, 'kept');
    await plugin.tearDown({ podUid: 'u', innerName: 'pv' });
    await plugin.devices?.unmountDevice({ uniqueName: 'kubernetes.io/local-volume/pv', innerName: 'pv' });
    await plugin.devices?.unmountDevice({ uniqueName: 'kubernetes.io/local-volume/pv', innerName: 'pv' });
    expect((await host.mounts.list()).filter(({ source }) => source === device)).toEqual([]);
    await plugin.devices?.mountDevice(spec, signal);
    await plugin.setUp({ pod, spec, isRemount: false, signal });
    expect(Buffer.from(await host.files.readFile(`${path}/file`)).toString()).toBe('kept');
  });

  it('grows with its disk while it is mounted', async () => {
    const spec = on(false);
    const path = plugin.hostPath(spec, 'u') ?? '';
    await plugin.devices?.mountDevice(spec, signal);
    await plugin.setUp({ pod, spec, isRemount: false, signal });
    const blocks = (): number => statfsSync(path).blocks * statfsSync(path).bsize;
    const before = blocks();
    truncateSync(join(directory, 'image'), 48 * 1024 * 1024);
    execFileSync('losetup', ['-c', device]);
    const request = { spec, podUid: 'u', sizeBytes: 48n * 1024n * 1024n, signal };
    const outcome = await plugin.expand?.(request);
    // Some kernels let only the machine itself enlarge a mounted ext4, not a container on it.
    if (outcome?.kind === 'failed')
      expect(outcome.message).toContain('Permission denied to resize filesystem');
    else expect(blocks()).toBeGreaterThan(2 * before);
  });

  it('does not format a read-only disk', async () => {
    await expect(plugin.devices?.mountDevice(on(true), signal)).rejects.toThrow(
      `cannot mount unformatted disk ${device}`,
    );
  });
});
