/** Tries to trick the machine's mount commands, in a mount namespace of its own; prints what came of it as JSON. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, openSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { linuxHost, mountAt } from '../../src/host/index.js';
import type { VolumeSpec } from '../../src/volumes/contracts.js';
import { nfsVolumes } from '../../src/volumes/plugins/nfs.js';

const [directory = ''] = process.argv.slice(2);
const host = linuxHost();
const results: Record<string, unknown> = {};

/** A file that a pod wrote into its volume: with it as the list of file systems, `mount` binds the host's root. */
const fstab = join(directory, 'pod-a/fstab:');
const targets = {
  control: join(directory, 'control'),
  host: join(directory, 'host'),
  plugin: join(directory, 'pods/b/volumes/kubernetes.io~nfs/v'),
};
mkdirSync(fstab, { recursive: true });
writeFileSync(
  join(fstab, 'x'),
  Object.values(targets)
    .map((target) => `/ ${target} none bind 0 0\n`)
    .join(''),
);
for (const target of Object.values(targets)) mkdirSync(target, { recursive: true });
const server = `-T${fstab.slice(0, -1)}`;

async function outcome(target: string, act: () => Promise<void>): Promise<object> {
  const error = await act().then(
    () => undefined,
    (reason: unknown) => reason,
  );
  const mounted = (await mountAt(host, target)) !== undefined;
  const { message, code } = (error ?? {}) as { message?: string; code?: string };
  return { message, code, mounted };
}

spawnSync('mount', ['-t', 'nfs', `${server}:/x`, targets.control]);
results.control = { mounted: (await mountAt(host, targets.control)) !== undefined };
results.host = await outcome(targets.host, () =>
  host.mounts.mount({ source: `${server}:/x`, target: targets.host, fsType: 'nfs' }),
);
const spec: VolumeSpec = { kind: 'inline', volume: { name: 'v', nfs: { server, path: '/x' } } };
results.plugin = await outcome(targets.plugin, () =>
  nfsVolumes({ host, rootDir: directory }).setUp({
    pod: { metadata: { uid: 'b', name: 'p', namespace: 'default' }, spec: { containers: [] } },
    spec,
    isRemount: false,
    signal: new AbortController().signal,
  }),
);

for (const name of ['not mounted', 'x: not mounted.', 'y\numount: z: not mounted.']) {
  const target = join(directory, name);
  mkdirSync(target);
  await host.mounts.mount({ source: 'tmpfs', target, fsType: 'tmpfs' });
  writeFileSync(join(target, 'data'), 'kept');
  // An open file keeps the mount busy.
  openSync(join(target, 'data'), 'r');
  results[name] = await outcome(target, () => host.mounts.unmount(target));
}

const plain = join(directory, 'plain');
mkdirSync(plain);
symlinkSync(plain, join(directory, 'link'));
results.plain = await outcome(plain, () => host.mounts.unmount(plain));
results.link = await outcome(plain, () => host.mounts.unmount(join(directory, 'link')));

/** A `umount` that says of every target that nothing is mounted there. */
const liars = join(directory, 'bin');
mkdirSync(liars);
writeFileSync(join(liars, 'umount'), '#!/bin/sh\necho "umount: $2: not mounted." >&2\nexit 32\n', {
  mode: 0o755,
});
const lied = join(directory, 'lied');
mkdirSync(lied);
await host.mounts.mount({ source: 'tmpfs', target: lied, fsType: 'tmpfs' });
symlinkSync(lied, join(directory, 'lied-link'));
process.env.PATH = `${liars}:${process.env.PATH}`;
results.lied = await outcome(lied, () => host.mounts.unmount(lied));
results.liedLink = await outcome(lied, () => host.mounts.unmount(join(directory, 'lied-link')));

results.rootNames = readdirSync(targets.host);
process.stdout.write(JSON.stringify(results));
