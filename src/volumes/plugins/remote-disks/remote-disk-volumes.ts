/** Volumes on disks of a storage network: the disk comes to the machine, is mounted once, and bound for each pod. */
import { errorText } from '../../../async/index.js';
import { cleanMountPoint } from '../../../host/index.js';
import type { VolumePlugin } from '../../contracts.js';
import { innerNameOf } from '../inner-name.js';
import type { DiskNetwork } from './disk-network.js';
import { PodBinds } from './pod-binds.js';
import { remoteBlockVolumes } from './remote-block.js';
import { type RemoteDiskOptions, RemoteDisks } from './remote-disks.js';

export function remoteDiskVolumes<Disk>(
  options: RemoteDiskOptions,
  network: DiskNetwork<Disk>,
): VolumePlugin {
  const { host } = options;
  const { pluginName } = network;
  const disks = new RemoteDisks(options, network);
  const binds = new PodBinds(options, pluginName, disks);
  return {
    name: pluginName,
    refreshes: false,
    ownsDirectory: true,
    supportsMountOptions: true,
    accepts: (spec) => network.accepts(spec),
    innerName: innerNameOf,
    problem(spec) {
      try {
        network.volumeOf(spec);
        return undefined;
      } catch (error) {
        return errorText(error);
      }
    },
    traits(spec) {
      const { readOnly } = network.volumeOf(spec);
      return { managed: !readOnly, readOnly, relabel: true };
    },
    hostPath: (spec, podUid) => binds.path({ podUid, innerName: innerNameOf(spec) }),
    setUp: (request) => binds.bind(request),
    async tearDown(remains) {
      await cleanMountPoint(host, binds.path(remains));
      await binds.forget(remains);
    },
    // The node itself mounts the disk, so it can mount it with a label.
    supportsSELinuxMount: () => true,
    expand: ({ spec, signal }) => disks.grow(spec, signal),
    identify: (remains) => binds.identify(remains),
    devices: {
      uniqueName: (spec) => disks.uniqueName(spec),
      attach: (spec, pod, signal) => disks.attach(spec, pod, signal),
      mountDevice: (spec, signal, { seLinuxLabel } = {}) => disks.mount(spec, signal, seLinuxLabel),
      unmountDevice: (device) => disks.unmount(device),
      remains: () => disks.remains('Filesystem'),
    },
    block: remoteBlockVolumes(options, pluginName, disks),
    // A controller lists such a volume as attached without doing anything; nodes tell it what is in use all the same.
    attaching: { ready: async () => {}, isNeeded: () => true, verify: async () => {} },
  };
}
