/** Disks of a storage network that pods get as devices. */
import { join } from 'node:path/posix';
import { type Host, removeTree } from '../../../host/index.js';
import type { BlockVolumes } from '../../contracts.js';
import { escapePluginName } from '../../manager/states.js';
import type { RemoteDisks } from './remote-disks.js';

export function remoteBlockVolumes<Disk>(
  { host, rootDir }: { readonly host: Host; readonly rootDir: string },
  pluginName: string,
  disks: RemoteDisks<Disk>,
): BlockVolumes {
  const mapDirectory = (innerName: string): string =>
    join(rootDir, 'plugins', escapePluginName(pluginName), 'volumeDevices', innerName);
  return {
    prepare: (spec) => disks.note(spec),
    // The disk is here since it was attached.
    setUpDevice: async () => {},
    mapPodDevice: ({ spec }) => disks.device(spec),
    unmapPodDevice: async () => {},
    async tearDownDevice({ uniqueName, innerName }) {
      const note = await disks.notes.read(uniqueName);
      if (note === undefined) return;
      await disks.release(note);
      // The note goes last: nothing else leads to the rest after a crash.
      await removeTree(host, mapDirectory(innerName));
      await disks.notes.remove(uniqueName);
    },
    mapDirectory,
    async identify({ innerName }) {
      const { notes } = await disks.notes.all();
      const note = notes.find((known) => known.mode === 'Block' && known.innerName === innerName);
      if (note === undefined) throw new Error('there is no note of its disk');
      return { uniqueName: note.uniqueName };
    },
    remains: () => disks.remains('Block'),
  };
}
