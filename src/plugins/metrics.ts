/** The metrics of plugins. */
import type { Registry } from '../metrics/index.js';

export interface PluginSockets {
  readonly desired: readonly string[];
  readonly actual: readonly string[];
}

/** Counts the sockets at each scrape. */
export function registerPluginCounts(registry: Registry, sockets: () => PluginSockets): void {
  const plugins = registry.gauge(
    'plugin_manager_total_plugins',
    'Plugins by registration socket: those that are there, and those that are registered.',
    ['socket_path', 'state'],
  );
  const states = ['desired_state_of_world', 'actual_state_of_world'] as const;
  let shown: readonly string[] = [];
  registry.onCollect(() => {
    const { desired, actual } = sockets();
    for (const socket_path of shown) for (const state of states) plugins.remove({ socket_path, state });
    for (const socket_path of desired) plugins.set(1, { socket_path, state: 'desired_state_of_world' });
    for (const socket_path of actual) plugins.set(1, { socket_path, state: 'actual_state_of_world' });
    shown = [...new Set([...desired, ...actual])];
  });
}
