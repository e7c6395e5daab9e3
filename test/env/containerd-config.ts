/** The configuration of a containerd that shares nothing with another one on the same machine. */
import { join } from 'node:path';
import type { ContainerdLayout } from './layout.js';
import { cniBinDir } from './network.js';
import type { TomlTable } from './toml.js';

/** Storage that the tests do not use; looking for it costs time at every start. */
const disabledPlugins = [
  'io.containerd.snapshotter.v1.aufs',
  'io.containerd.snapshotter.v1.btrfs',
  'io.containerd.snapshotter.v1.devmapper',
  'io.containerd.snapshotter.v1.zfs',
];

export function containerdConfig(layout: ContainerdLayout, sandboxImage: string): TomlTable {
  return {
    version: 2,
    root: layout.root,
    state: layout.state,
    disabled_plugins: disabledPlugins,
    grpc: { address: layout.socket },
    plugins: {
      'io.containerd.internal.v1.opt': { path: join(layout.dir, 'opt') },
      'io.containerd.grpc.v1.cri': {
        sandbox_image: sandboxImage,
        // Where the tests run, no process may become less likely to be killed than the one that started it.
        restrict_oom_score_adj: true,
        netns_mounts_under_state_dir: true,
        cni: { bin_dir: cniBinDir, conf_dir: layout.cniConfDir },
        containerd: {
          snapshotter: 'overlayfs',
          default_runtime_name: 'runc',
          runtimes: {
            runc: {
              runtime_type: 'io.containerd.runc.v2',
              options: { SystemdCgroup: false, Root: layout.runcRoot },
            },
          },
        },
        registry: { config_path: layout.registryHostsDir },
      },
    },
  };
}
