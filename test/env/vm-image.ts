/** The disk of the test's virtual machine: Debian with systemd, cgroup v2, D-Bus, logind and containerd; made once, then kept. */
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from './command.js';
import { withLock } from './lock.js';
import { ensurePackages } from './packages.js';
import { packagesFor } from './programs.js';
import { CleanupStack, createTempDir } from './tempdir.js';

/** What boots a virtual machine. The disk is opened without being changed. */
export interface VmImage {
  readonly disk: string;
  readonly kernel: string;
  readonly initrd: string;
}

const suite = 'bookworm';
const guestPackages = [
  'containerd',
  'containernetworking-plugins',
  'dbus',
  'initramfs-tools',
  'iproute2',
  'iptables',
  'kmod',
  'libpam-systemd',
  'linux-image-cloud-amd64',
  'procps',
  'runc',
  'systemd',
  'systemd-sysv',
  'udev',
];
const diskSize = '3G';
const makeTimeoutMs = 30 * 60_000;

const fstab = `/dev/vda / ext4 rw 0 0
/dev/vdb /payload ext4 rw 0 0
`;

/** All that a test does in the machine comes with its own disk, so that this one stays the same. */
const guestUnit = `[Unit]
Description=Work that the host gave this machine
RequiresMountsFor=/payload
Wants=dbus.service systemd-logind.service
After=dbus.service systemd-logind.service

[Service]
Type=exec
ExecStart=/payload/node /payload/guest.mjs
StandardOutput=append:/payload/guest.log
StandardError=append:/payload/guest.log

[Install]
WantedBy=multi-user.target
`;

/** These start by themselves and only cost time. */
const unwanted = ['multi-user.target.wants/containerd.service', 'timers.target.wants'];

export async function vmImage(): Promise<VmImage> {
  const recipe = JSON.stringify([suite, guestPackages, diskSize, fstab, guestUnit, unwanted]);
  const key = createHash('sha256').update(recipe).digest('hex').slice(0, 12);
  const base = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  const dir = join(base, 'nodelet', `vm-${key}`);
  const image = {
    disk: join(dir, 'disk.ext4'),
    kernel: join(dir, 'vmlinuz'),
    initrd: join(dir, 'initrd.img'),
  };
  if (!existsSync(dir)) {
    await withLock('vm-image', async () => {
      if (!existsSync(dir)) await makeImage(dir);
    });
  }
  return image;
}

async function makeImage(dir: string): Promise<void> {
  await ensurePackages([...packagesFor('base', 'vm'), 'debootstrap']);
  process.stderr.write('making the disk of the virtual machine; this takes minutes once\n');
  const cleanups = new CleanupStack();
  try {
    const root = (await createTempDir('vm-root', { cleanups })).path;
    // debootstrap mounts proc and sys, which end with its own namespace.
    await runCommand(
      'unshare',
      [
        ...['--mount', '--pid', '--fork', '--kill-child', '--mount-proc', 'debootstrap', '--variant=minbase'],
        ...[`--include=${guestPackages.join(',')}`, suite, root],
      ],
      { timeoutMs: makeTimeoutMs },
    );
    configure(root);
    const unfinished = `${dir}.unfinished`;
    rmSync(unfinished, { recursive: true, force: true });
    mkdirSync(unfinished, { recursive: true });
    copyFileSync(bootFile(root, 'vmlinuz-'), join(unfinished, 'vmlinuz'));
    copyFileSync(bootFile(root, 'initrd.img-'), join(unfinished, 'initrd.img'));
    await makeDisk(root, join(unfinished, 'disk.ext4'), diskSize);
    renameSync(unfinished, dir);
  } finally {
    await cleanups.run();
  }
}

function configure(root: string): void {
  const units = join(root, 'etc/systemd/system');
  for (const path of unwanted) rmSync(join(units, path), { recursive: true, force: true });
  mkdirSync(join(root, 'payload'));
  writeFileSync(join(root, 'etc/fstab'), fstab);
  writeFileSync(join(root, 'etc/hostname'), 'vm\n');
  writeFileSync(join(root, 'etc/hosts'), '127.0.0.1 localhost vm\n');
  writeFileSync(join(units, 'guest.service'), guestUnit);
  mkdirSync(join(units, 'multi-user.target.wants'), { recursive: true });
  symlinkSync('/etc/systemd/system/guest.service', join(units, 'multi-user.target.wants/guest.service'));
}

function bootFile(root: string, prefix: string): string {
  const dir = join(root, 'boot');
  const name = readdirSync(dir).find((entry) => entry.startsWith(prefix));
  if (name === undefined) throw new Error(`debootstrap installed no kernel: ${dir} has no ${prefix}*`);
  return join(dir, name);
}

/** A file with an ext4 file system that holds the directory's content; nothing is mounted. */
export async function makeDisk(content: string, disk: string, size: string): Promise<void> {
  await runCommand('mke2fs', ['-q', '-t', 'ext4', '-m', '0', '-d', content, disk, size], {
    timeoutMs: makeTimeoutMs,
  });
}
