/** Volumes of in-tree plugins, which CSI drivers serve in their place. */
export { migratedPluginNames } from './in-tree-sources.js';
export { migratedSpec } from './migrate.js';
