/** Builds the plugin manager of a kubelet that plugins can reach. */
import { join } from 'node:path/posix';
import {
  openGrpcSocket,
  type PluginHandler,
  PluginManager,
  registerPluginCounts,
} from '../../plugins/index.js';
import type { KubeletSettings } from '../settings.js';
import type { StartManager } from '../start-up/managers.js';

type PluginManagerSettings = Pick<
  KubeletSettings,
  | 'clock'
  | 'timeline'
  | 'registry'
  | 'rootDir'
  | 'machine'
  | 'isOwnMachine'
  | 'outside'
  | 'podDirectories'
  | 'openPluginSocket'
>;

/** Undefined where there is no directory for sockets, or no way to them. */
export function createPlugins(
  settings: PluginManagerSettings,
  handlers: ReadonlyMap<string, PluginHandler>,
): StartManager | undefined {
  const { clock, timeline, registry, rootDir, machine: host, isOwnMachine } = settings;
  // The sockets of another machine cannot be reached from here.
  const reach = settings.openPluginSocket ?? (isOwnMachine ? openGrpcSocket : undefined);
  if (reach === undefined || !settings.podDirectories) return undefined;
  const open = settings.outside.port('plugin sockets', () => reach);
  const directory = join(rootDir, 'plugins_registry');
  const manager = new PluginManager({ clock, timeline, host, directory, open, handlers });
  return async (tasks) => {
    registerPluginCounts(registry, () => manager.sockets());
    tasks.start('the plugin manager', (signal) => manager.run(signal));
  };
}
