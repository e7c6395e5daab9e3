/** Reads the facts of the machine that container configs depend on. */
import { access, readdir, readFile } from 'node:fs/promises';
import { endianness } from 'node:os';
import { join } from 'node:path';
import { pageSizeName } from '../../kube/index.js';

export interface MachineFacts {
  readonly memoryCapacityBytes: number;
  readonly swapCapacityBytes: number;
  /** Whether a cgroup's swap can be limited. */
  readonly isSwapControllerAvailable: boolean;
  /** `2MB`, `1GB` … */
  readonly hugePageSizes: readonly string[];
  /** Absent where the kernel does not tell. */
  readonly pageSizeBytes?: number;
  readonly cgroupVersion: 1 | 2;
  /** Whether the CPU time of a cgroup can be limited; a kernel of cgroup v1 may be built without. */
  readonly isCpuQuotaAvailable: boolean;
  readonly thermalThrottlePaths: readonly string[];
  readonly isSelinuxEnabled: boolean;
  readonly isAppArmorEnabled: boolean;
}

/** `root` is where the machine's `/proc` and `/sys` are found. */
export async function readMachineFacts(root = '/'): Promise<MachineFacts> {
  const memory = parseMeminfo(await readFile(join(root, 'proc/meminfo'), 'utf8'));
  const cgroupVersion = (await exists(join(root, 'sys/fs/cgroup/cgroup.controllers'))) ? 2 : 1;
  const pageSizeBytes = pageSizeOf(await readFile(join(root, 'proc/self/auxv')).catch(() => Buffer.alloc(0)));
  return {
    ...memory,
    ...(pageSizeBytes === undefined ? {} : { pageSizeBytes }),
    cgroupVersion,
    isCpuQuotaAvailable: cgroupVersion === 2 || (await hasV1CpuQuota(root)),
    isSwapControllerAvailable: await exists(await swapControllerPath(root, cgroupVersion)),
    hugePageSizes: await readHugePageSizes(root),
    thermalThrottlePaths: await findThermalThrottlePaths(root),
    isSelinuxEnabled: await exists(join(root, 'sys/fs/selinux/enforce')),
    isAppArmorEnabled:
      (await readIfPresent(join(root, 'sys/module/apparmor/parameters/enabled')))?.startsWith('Y') ?? false,
  };
}

/** The key of the page size in what the kernel tells each process at its start. */
const pageSizeKey = 6n;

/** `/proc/self/auxv`: pairs of 64-bit words, as all machines have them that Node runs on. */
export function pageSizeOf(auxv: Buffer, order = endianness()): number | undefined {
  const word = (at: number): bigint => (order === 'LE' ? auxv.readBigUInt64LE(at) : auxv.readBigUInt64BE(at));
  for (let at = 0; at + 16 <= auxv.length; at += 16) {
    if (word(at) !== pageSizeKey) continue;
    const bytes = Number(word(at + 8));
    // A power of two between 4 KiB and 1 MiB, or else these were no such words.
    return bytes >= 4096 && bytes <= 2 ** 20 && Number.isInteger(Math.log2(bytes)) ? bytes : undefined;
  }
  return undefined;
}

export function parseMeminfo(text: string): { memoryCapacityBytes: number; swapCapacityBytes: number } {
  const bytesOf = (field: string): number | undefined => {
    const [, kibibytes] = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(text) ?? [];
    return kibibytes === undefined ? undefined : Number(kibibytes) * 1024;
  };
  const memoryCapacityBytes = bytesOf('MemTotal');
  if (memoryCapacityBytes === undefined) throw new Error('/proc/meminfo has no MemTotal line');
  return { memoryCapacityBytes, swapCapacityBytes: bytesOf('SwapTotal') ?? 0 };
}

/** The v2 root cgroup has no swap file, so this process's cgroup is checked. */
async function swapControllerPath(root: string, cgroupVersion: 1 | 2): Promise<string> {
  if (cgroupVersion === 1) return join(root, 'sys/fs/cgroup/memory/memory.memsw.limit_in_bytes');
  const text = (await readIfPresent(join(root, 'proc/self/cgroup'))) ?? '';
  const [, own = '/'] = /^0::(.*)$/m.exec(text) ?? [];
  return join(root, 'sys/fs/cgroup', own, 'memory.swap.max');
}

/** True where the controller is not mounted at all: who needs it says so. */
async function hasV1CpuQuota(root: string): Promise<boolean> {
  const mountinfo = (await readIfPresent(join(root, 'proc/self/mountinfo'))) ?? '';
  const mounts = mountinfo.split('\n').flatMap((line) => {
    const [, path, options = ''] = /^\S+ \S+ \S+ \S+ (\S+) .* - cgroup \S+ (\S+)$/.exec(line) ?? [];
    return path !== undefined && options.split(',').includes('cpu') ? [path] : [];
  });
  const [mount] = mounts.sort((a, b) => a.length - b.length);
  if (mount === undefined) return true;
  for (const file of ['cpu.cfs_period_us', 'cpu.cfs_quota_us'])
    if (!(await exists(join(root, mount, file)))) return false;
  return true;
}

async function readHugePageSizes(root: string): Promise<string[]> {
  const sizesKib = (await list(join(root, 'sys/kernel/mm/hugepages')))
    .map((entry) => /^hugepages-(\d+)kB$/.exec(entry)?.[1])
    .filter((size) => size !== undefined)
    .map(Number);
  return sizesKib.sort((a, b) => a - b).map((size) => pageSizeName(size * 1024));
}

/** Paths as containers see them, without `root`. */
async function findThermalThrottlePaths(root: string): Promise<string[]> {
  const cpus = (await list(join(root, 'sys/devices/system/cpu')))
    .map((entry) => /^cpu(\d+)$/.exec(entry)?.[1])
    .filter((cpu) => cpu !== undefined)
    .map(Number)
    .sort((a, b) => a - b);
  const found: string[] = [];
  for (const cpu of cpus) {
    const path = `/sys/devices/system/cpu/cpu${cpu}/thermal_throttle`;
    if (await exists(join(root, path))) found.push(path);
  }
  return found;
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch (error) {
    return falseIfAbsent(error);
  }
}

async function list(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    falseIfAbsent(error);
    return [];
  }
}

async function readIfPresent(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    falseIfAbsent(error);
    return undefined;
  }
}

/** What the kernel lacks or hides from us is absent; other errors are errors. */
function falseIfAbsent(error: unknown): false {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EACCES' || code === 'EPERM') return false;
  throw error;
}
