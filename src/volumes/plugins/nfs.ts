/** The nfs plugin: a directory of a file server, mounted by the machine's mount command. */
import { cleanMountPoint, type Host, isMountPoint } from '../../host/index.js';
import type { NFSVolumeSource } from '../../kube/index.js';
import { nfsSource } from '../../programs/index.js';
import type { VolumePlugin, VolumeSpec } from '../contracts.js';
import { adminMountOptions } from './admin-mount-options.js';
import { innerNameOf } from './inner-name.js';
import { mountOrCleanUp } from './mount-or-clean-up.js';
import { podVolumeDirectory } from './volume-paths.js';

const pluginName = 'kubernetes.io/nfs';
/** After waiting this long for a lost server, the unmount is forced. */
const unmountLimitMs = 60_000;

export function nfsVolumes({
  host,
  rootDir,
}: {
  readonly host: Host;
  readonly rootDir: string;
}): VolumePlugin {
  const pathOf = (podUid: string, name: string): string =>
    podVolumeDirectory(rootDir, podUid, pluginName, name);
  return {
    name: pluginName,
    refreshes: false,
    ownsDirectory: true,
    supportsMountOptions: true,
    accepts: (spec) => sourceOf(spec) !== undefined,
    innerName: innerNameOf,
    traits: (spec) => ({ managed: false, readOnly: isReadOnly(spec), relabel: false }),
    hostPath: (spec, podUid) => pathOf(podUid, innerNameOf(spec)),
    async setUp({ pod, spec, signal }) {
      const target = pathOf(pod.metadata.uid, innerNameOf(spec));
      const source = sourceOf(spec);
      if (source === undefined || (await isMountPoint(host, target))) return;
      const request = { source: nfsSource(source), target, fsType: 'nfs', options: nfsOptions(spec) };
      await host.files.mkdir(target, { mode: 0o750, recursive: true });
      await mountOrCleanUp(host, request, signal);
    },
    tearDown: ({ podUid, innerName }) =>
      cleanMountPoint(host, pathOf(podUid, innerName), { force: true, timeoutMs: unmountLimitMs }),
  };
}

/** Sorted and distinct. */
export function nfsOptions(spec: VolumeSpec): string[] {
  return [...new Set([...adminMountOptions(spec), ...(isReadOnly(spec) ? ['ro'] : [])])].sort();
}

function sourceOf(spec: VolumeSpec): NFSVolumeSource | undefined {
  return spec.kind === 'inline' ? spec.volume.nfs : spec.persistentVolume.spec.nfs;
}

/** From the pod's spec or its reference to the claim. */
function isReadOnly(spec: VolumeSpec): boolean {
  return spec.kind === 'inline' ? (spec.volume.nfs?.readOnly ?? false) : spec.readOnly;
}
