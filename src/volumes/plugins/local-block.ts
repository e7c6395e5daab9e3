/** Disks of this machine that pods get as devices, through a local persistent volume of mode Block. */
import { join } from 'node:path/posix';
import { type Host, namesIn } from '../../host/index.js';
import type { BlockVolumes, VolumeSpec } from '../contracts.js';
import { escapePluginName } from '../manager/states.js';

/** The disk itself is the device, so there is nothing to prepare and nothing to take down. */
export function localBlockVolumes(
  { host, rootDir }: { readonly host: Host; readonly rootDir: string },
  pluginName: string,
  pathOf: (spec: VolumeSpec) => string,
): BlockVolumes {
  const maps = join(rootDir, 'plugins', escapePluginName(pluginName), 'volumeDevices');
  return {
    prepare: async () => {},
    setUpDevice: async () => {},
    async mapPodDevice({ spec }) {
      const path = pathOf(spec);
      // On a server that does not respond, a path must hold up nobody else.
      return host.apart(path).files.realpath(path);
    },
    unmapPodDevice: async () => {},
    tearDownDevice: async () => {},
    mapDirectory: (innerName) => join(maps, innerName),
    async remains() {
      const names = await namesIn(host, maps);
      return {
        devices: names.map((innerName) => ({ uniqueName: `${pluginName}/${innerName}`, innerName })),
        unknown: [],
      };
    },
  };
}
