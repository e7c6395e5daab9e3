/** The configuration of a containerd that shares nothing with another one on the same machine. */
import path from 'node:path';
import type { TomlTable } from './toml.js';

export interface ContainerdPaths {
  /** For everything without a more specific directory. */
  readonly dir: string;
  /** Survives a reboot: images, snapshots, metadata. */
  readonly root: string;
  /** Lost at a reboot: bundles, sockets, mounts, network namespaces. */
  readonly state: string;
  readonly runcRoot: string;
  readonly socket: string;
  readonly cniConfDir: string;
  /** Holds `<host>/hosts.toml` for each registry not reached by https under its own name. */
  readonly registryHostsDir: string;
}

export interface ContainerdSettings {
  readonly sandboxImage: string;
  readonly cniBinDir: string;
  /** Set where no process may get a lower OOM score than its parent. */
  readonly restrictOomScore: boolean;
}

/** Storage that needs a prepared disk; probing for it slows every start. */
const disabledPlugins = [
  'io.containerd.snapshotter.v1.aufs',
  'io.containerd.snapshotter.v1.btrfs',
  'io.containerd.snapshotter.v1.devmapper',
  'io.containerd.snapshotter.v1.zfs',
];

export function containerdConfig(places: ContainerdPaths, settings: ContainerdSettings): TomlTable {
  return {
    version: 2,
    root: places.root,
    state: places.state,
    disabled_plugins: disabledPlugins,
    grpc: { address: places.socket },
    plugins: {
      // Its socket is at one place of the machine, which another containerd may have.
      'io.containerd.nri.v1.nri': { disable: true },
      'io.containerd.internal.v1.opt': { path: path.join(places.dir, 'opt') },
      'io.containerd.grpc.v1.cri': {
        sandbox_image: settings.sandboxImage,
        restrict_oom_score_adj: settings.restrictOomScore,
        netns_mounts_under_state_dir: true,
        cni: { bin_dir: settings.cniBinDir, conf_dir: places.cniConfDir },
        containerd: {
          snapshotter: 'overlayfs',
          default_runtime_name: 'runc',
          runtimes: {
            runc: {
              runtime_type: 'io.containerd.runc.v2',
              options: { SystemdCgroup: false, Root: places.runcRoot },
            },
          },
        },
        registry: { config_path: places.registryHostsDir },
      },
    },
  };
}
