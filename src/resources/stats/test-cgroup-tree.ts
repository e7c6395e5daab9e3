/** A directory tree that looks like the kernel's cgroups of version 2 and its processes, for tests of what reads them. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type KernelFiles, linuxKernelFiles } from './kernel-files.js';
import { statsLimits } from './limits.js';

export class TestCgroups {
  readonly root = mkdtempSync(join(tmpdir(), 'nodelet-stats-tree-'));
  readonly cgroupRoot = join(this.root, 'cg');
  readonly procRoot = join(this.root, 'proc');
  /** Every file, directory and link that was read. */
  readonly reads: string[] = [];

  constructor() {
    this.put('cg/cgroup.controllers', 'cpu io memory pids\n');
    this.put('cg/cpu.stat', 'usage_usec 9000000\nuser_usec 6000000\nsystem_usec 3000000\n');
    this.put('cg/memory.stat', 'anon 100\nfile 50\ninactive_file 30\npgfault 1\npgmajfault 2\n');
    this.put('cg/cgroup.procs', '1\n');
    this.put('proc/meminfo', 'MemTotal: 8 kB\nSwapTotal: 2 kB\nSwapFree: 1 kB\n');
    this.put('proc/uptime', '1.00 1.00\n');
    this.put('proc/stat', 'btime 5\n');
    this.put('proc/loadavg', '0 0 0 1/7 9\n');
    this.put('proc/sys/kernel/pid_max', '100\n');
    this.put('proc/sys/kernel/threads-max', '90\n');
    this.put('proc/1/net/dev', netDevText('eth0', 7));
    this.put(
      'proc/diskstats',
      '   8       1 sda1 10 20 30 40 50 60 70 80 90 100 110\n   8       0 sda 0 0 0 0 0 0 0 0 0 0 0\n',
    );
    this.put('proc/self/mountinfo', `1 0 8:1 / / rw - ext4 /dev/sda1 rw\n`);
  }

  get files(): KernelFiles {
    const real = linuxKernelFiles(statsLimits);
    const counted =
      <T>(call: (path: string) => T) =>
      (path: string): T => {
        this.reads.push(path);
        return call(path);
      };
    return {
      read: counted(real.read),
      readCgroupFile: counted(real.readCgroupFile),
      // Files of a directory stay readable when they are removed; those of a cgroup do not.
      keep: (path) =>
        real.modifiedMs(path) === undefined
          ? undefined
          : { read: () => counted(real.readCgroupFile)(path), close: () => {} },
      names: (path, limit) => counted((place) => real.names(place, limit))(path),
      directories: counted(real.directories),
      link: counted(real.link),
      modifiedMs: counted(real.modifiedMs),
      links: counted(real.links),
    };
  }

  put(path: string, text: string): void {
    mkdirSync(dirname(join(this.root, path)), { recursive: true });
    writeFileSync(join(this.root, path), text);
  }

  /** A cgroup as the kernel fills a new one, with some use. */
  add(cgroup: string, more: Readonly<Record<string, string>> = {}): void {
    const files = { ...usualFiles, ...more };
    for (const [file, text] of Object.entries(files)) this.put(`cg/${cgroup}/${file}`, text);
  }

  /** A process with two open files, one of them a socket. */
  addProcess(pid: number): void {
    this.put(
      `proc/${pid}/limits`,
      'Limit  Soft  Hard  Units\nMax open files            1024                 4096                 files\n',
    );
    this.put(`proc/${pid}/net/dev`, netDevText('eth0', pid));
    mkdirSync(join(this.procRoot, `${pid}/fd`), { recursive: true });
    symlinkSync('/dev/null', join(this.procRoot, `${pid}/fd/0`));
    symlinkSync('socket:[12]', join(this.procRoot, `${pid}/fd/1`));
  }

  remove(cgroup: string): void {
    rmSync(join(this.cgroupRoot, cgroup), { recursive: true });
  }

  destroy(): void {
    rmSync(this.root, { recursive: true });
  }
}

const stalls =
  'some avg10=1.00 avg60=0.00 avg300=0.00 total=3000000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=2000000\n';

const usualFiles: Readonly<Record<string, string>> = {
  'cgroup.procs': '',
  'cgroup.events': 'populated 1\nfrozen 0\n',
  'cpu.stat':
    'usage_usec 5000000\nuser_usec 3000000\nsystem_usec 2000000\nnr_periods 10\nnr_throttled 4\nthrottled_usec 500000\nnr_bursts 1\nburst_usec 250000\n',
  'cpu.max': 'max 100000\n',
  'cpu.weight': '39\n',
  'cpu.pressure': stalls,
  'memory.stat':
    'anon 1000\nfile 4000\nkernel_stack 1\nfile_mapped 11\nfile_dirty 12\nfile_writeback 13\ninactive_anon 14\nactive_anon 15\ninactive_file 16\nactive_file 17\nworkingset_refault_anon 18\nworkingset_refault_file 19\npgscan 20\npgsteal 21\npgfault 22\npgmajfault 23\n',
  'memory.current': '6000\n',
  'memory.peak': '7000\n',
  'memory.max': '9000\n',
  'memory.min': '100\n',
  'memory.events': 'low 0\nhigh 3\nmax 4\noom 0\n',
  'memory.swap.current': '50\n',
  'memory.swap.max': '60\n',
  'memory.pressure': stalls,
  'io.stat': '8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0\n',
  'io.pressure': stalls,
  'pids.current': '5\n',
  'pids.max': 'max\n',
};

function netDevText(name: string, bytes: number): string {
  return (
    'Inter-|   Receive                                                |  Transmit\n face |bytes    packets\n' +
    `    lo: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n  ${name}: ${bytes} 2 3 4 0 0 0 0 20 5 6 7 0 0 0 0\n`
  );
}
