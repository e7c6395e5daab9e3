/** Everything that belongs to one containerd, told by its directory alone, so that a later process can clean up after it. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { listOwnerDirs, ownDir } from './directories.js';
import { ifThere } from './vanishing.js';

export interface ContainerdLayout {
  readonly id: string;
  readonly dir: string;
  /** What a reboot keeps: images, snapshots, metadata. */
  readonly root: string;
  /** What a reboot loses: bundles, sockets, mounts, network namespaces. */
  readonly state: string;
  readonly runcRoot: string;
  readonly socket: string;
  readonly config: string;
  readonly log: string;
  readonly cniConfDir: string;
  /** Where addresses given to pods are noted. */
  readonly cniDataDir: string;
  /** `<host>/hosts.toml` for each registry that is not reached by https under its own name. */
  readonly registryHostsDir: string;
  /** Where a runtime with CDI looks for descriptions of devices. */
  readonly cdiSpecDir: string;
  readonly fifoDir: string;
  /** The pod subnet this instance took. */
  readonly subnetFile: string;
  /** Also the name of the CNI network, by which its iptables rules are known. */
  readonly networkName: string;
  readonly bridge: string;
  /** The cgroup that holds all the pods of this instance. */
  readonly cgroupParent: string;
}

const directoryPrefix = 'c-';

/** `undefined` when the directory is none of a containerd. */
export function layoutOf(dir: string): ContainerdLayout | undefined {
  const name = basename(dir);
  if (!name.startsWith(directoryPrefix)) {
    return undefined;
  }
  const id = name.slice(directoryPrefix.length);
  return {
    id,
    dir,
    root: join(dir, 'root'),
    state: join(dir, 'state'),
    runcRoot: join(dir, 'state', 'runc'),
    socket: join(dir, 'containerd.sock'),
    config: join(dir, 'config.toml'),
    log: join(dir, 'containerd.log'),
    cniConfDir: join(dir, 'cni', 'conf'),
    cniDataDir: join(dir, 'cni', 'data'),
    registryHostsDir: join(dir, 'registries'),
    cdiSpecDir: join(dir, 'cdi'),
    fifoDir: join(dir, 'fifo'),
    subnetFile: join(dir, 'subnet'),
    networkName: `nodelet-${id}`,
    bridge: `nodelet-${id}`,
    cgroupParent: `/nodelet-${id}`,
  };
}

/** A new instance's directories. */
export function createLayout(): ContainerdLayout {
  // A bridge's name has at most 15 bytes.
  const layout = layoutOf(join(ownDir(), `${directoryPrefix}${randomBytes(3).toString('hex')}`));
  if (layout === undefined) {
    throw new Error('unreachable: the directory was named to be a containerd');
  }
  mkdirSync(layout.dir, { mode: 0o711 });
  const { cniConfDir, cniDataDir, registryHostsDir, cdiSpecDir, fifoDir } = layout;
  for (const dir of [cniConfDir, cniDataDir, registryHostsDir, cdiSpecDir, fifoDir]) {
    mkdirSync(dir, { recursive: true });
  }
  return layout;
}

/** All instances that have a directory, of live and dead processes. */
export function listLayouts(): ContainerdLayout[] {
  return listOwnerDirs().flatMap(({ path }) => layoutsIn(path));
}

export function layoutsIn(ownerDir: string): ContainerdLayout[] {
  const names = ifThere(() => readdirSync(ownerDir)) ?? [];
  return names.map((name) => layoutOf(join(ownerDir, name))).filter((layout) => layout !== undefined);
}
