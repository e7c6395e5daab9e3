/** The one table of the programs that tests and benchmarks start, by the Debian package that each comes with. */

/** Who needs a package; `base` is on every Debian machine, even the smallest. */
export type Need = 'base' | 'unit' | 'containerd' | 'cluster' | 'vm' | 'fresh';

export interface PackageRow {
  readonly need: Need;
  /** Those that are started by their names; none for a package that is needed for its files. */
  readonly programs: readonly string[];
}

export const packages: Readonly<Record<string, PackageRow>> = {
  apt: { need: 'base', programs: ['apt-get'] },
  bash: { need: 'base', programs: ['bash'] },
  bsdutils: { need: 'base', programs: ['script'] },
  coreutils: {
    need: 'base',
    programs: [
      'cat',
      'chcon',
      'chmod',
      'chroot',
      'cp',
      'cut',
      'date',
      'dd',
      'env',
      'head',
      'id',
      'ln',
      'ls',
      'mkdir',
      'mkfifo',
      'mv',
      'nice',
      'readlink',
      'rm',
      'rmdir',
      'seq',
      'sleep',
      'sort',
      'stat',
      'stty',
      'sync',
      'tail',
      'tee',
      'timeout',
      'touch',
      'tr',
      'tty',
      'wc',
      'yes',
    ],
  },
  dash: { need: 'base', programs: ['sh'] },
  dpkg: { need: 'base', programs: ['dpkg', 'dpkg-query'] },
  e2fsprogs: { need: 'base', programs: ['debugfs', 'fsck.ext4', 'mke2fs', 'mkfs.ext4', 'resize2fs'] },
  findutils: { need: 'base', programs: ['find', 'xargs'] },
  grep: { need: 'base', programs: ['grep'] },
  hostname: { need: 'base', programs: ['hostname'] },
  'libc-bin': { need: 'base', programs: ['ldd'] },
  mount: { need: 'base', programs: ['losetup', 'mount', 'umount'] },
  'perl-base': { need: 'base', programs: ['perl'] },
  sed: { need: 'base', programs: ['sed'] },
  tar: { need: 'base', programs: ['tar'] },
  'util-linux': {
    need: 'base',
    programs: [
      'blkid',
      'flock',
      'fsck',
      'mkfs',
      'nsenter',
      'pivot_root',
      'prlimit',
      'setpriv',
      'setsid',
      'unshare',
    ],
  },

  'dbus-daemon': { need: 'unit', programs: ['dbus-daemon'] },
  iproute2: { need: 'unit', programs: ['ip'] },
  iptables: {
    need: 'unit',
    programs: [
      'ip6tables',
      'ip6tables-restore',
      'ip6tables-save',
      'iptables',
      'iptables-restore',
      'iptables-save',
    ],
  },
  procps: { need: 'unit', programs: ['pgrep', 'ps', 'sysctl'] },

  'busybox-static': { need: 'containerd', programs: ['busybox'] },
  chromium: { need: 'containerd', programs: ['chromium'] },
  containerd: { need: 'containerd', programs: ['containerd', 'ctr'] },
  'containernetworking-plugins': { need: 'containerd', programs: [] },
  'docker-registry': { need: 'containerd', programs: ['docker-registry'] },
  'python3-dbusmock': { need: 'containerd', programs: [] },
  runc: { need: 'containerd', programs: ['runc'] },
  systemd: { need: 'containerd', programs: ['systemd-inhibit'] },
  xfsprogs: { need: 'containerd', programs: ['mkfs.xfs', 'xfs_growfs'] },

  'etcd-server': { need: 'cluster', programs: ['etcd'] },

  'qemu-system-x86': { need: 'vm', programs: ['qemu-system-x86_64'] },

  debootstrap: { need: 'fresh', programs: ['debootstrap'] },
  git: { need: 'fresh', programs: ['git'] },
  slirp4netns: { need: 'fresh', programs: ['slirp4netns'] },
};

/** Programs that no package brings, and why none has to. */
export const notInstalled: Readonly<Record<string, string>> = {
  btrfs: 'of btrfs-progs; no test has such a disk',
  node: 'runs the tests',
  npm: 'starts them',
  go: 'builds the control plane, csi-sanity, metrics-server and the newer containerd, unless KUBEBUILDER_ASSETS, CSI_SANITY, METRICS_SERVER and CONTAINERD_BIN name theirs',
  getsubids: 'of uidmap; tests simulate it',
  hello: 'the sample that the test of the installation installs and removes',
  iscsiadm: 'of open-iscsi; tests simulate it',
  journalctl: 'of systemd; where it is missing, the kubelet says so',
  multipath: 'of multipath-tools; tests simulate it',
  multipathd: 'of multipath-tools; tests simulate it',
  systemctl: 'of systemd, in the virtual machine',
  'systemd-notify': 'of systemd; where it is missing, nobody is told',
};

/** The packages of these needs, in the table's order. */
export function packagesFor(...needs: readonly Need[]): string[] {
  return Object.entries(packages)
    .filter(([, { need }]) => needs.includes(need))
    .map(([name]) => name);
}

/** Whether the table tells where a program comes from. */
export function isKnownProgram(name: string): boolean {
  return (
    notInstalled[name] !== undefined ||
    Object.values(packages).some(({ programs }) => programs.includes(name))
  );
}
