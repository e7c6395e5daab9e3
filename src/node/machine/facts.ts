/** The machine's properties for the node object; read once at startup. */

export interface HugePages {
  readonly pageSizeBytes: number;
  readonly pages: number;
}

export interface MachineInfo {
  /** Online logical CPUs. */
  readonly cpus: number;
  readonly memoryBytes: number;
  readonly swapBytes: number;
  readonly hugePages: readonly HugePages[];
  /** Size of the file system with the root directory; undefined if it could not be read. */
  readonly rootFilesystemBytes: number | undefined;
  readonly machineId: string;
  readonly systemUuid: string;
  readonly bootId: string;
}

/** Properties that stay constant and are not capacity. */
export interface PlatformFacts {
  readonly kernelVersion: string;
  readonly osImage: string;
  /** Go's name: `amd64`, `arm64` … */
  readonly architecture: string;
}

/** `MemTotal` and `SwapTotal` of `/proc/meminfo`. */
export function parseMeminfo(text: string): { readonly memoryBytes: number; readonly swapBytes: number } {
  const bytesOf = (field: string): number | undefined => {
    const [, kibibytes] = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(text) ?? [];
    return kibibytes === undefined ? undefined : Number(kibibytes) * 1024;
  };
  const memoryBytes = bytesOf('MemTotal');
  if (memoryBytes === undefined) throw new Error('/proc/meminfo has no MemTotal line');
  return { memoryBytes, swapBytes: bytesOf('SwapTotal') ?? 0 };
}

/** The number of CPUs in a list such as `0-3,8`; undefined if it is not a list. */
export function countCpuList(text: string): number | undefined {
  let count = 0;
  for (const part of text.trim().split(',')) {
    const [, first, last = first] = /^(\d+)(?:-(\d+))?$/.exec(part) ?? [];
    if (first === undefined) return undefined;
    count += Number(last) - Number(first) + 1;
  }
  return count;
}

/** The page size of an entry of `/sys/kernel/mm/hugepages`. */
export function hugePageSizeBytes(entry: string): number | undefined {
  const [, kibibytes] = /^hugepages-(\d+)kB$/.exec(entry) ?? [];
  return kibibytes === undefined ? undefined : Number(kibibytes) * 1024;
}

/** PRETTY_NAME without its quotes; `Linux` if there is none. */
export function osImageOf(osRelease: string): string {
  const [, value] = /^PRETTY_NAME=(.*)$/m.exec(osRelease) ?? [];
  const name = value?.trim().replace(/^(["'])(.*)\1$/, '$2') ?? '';
  return name === '' ? 'Linux' : name;
}

const architectures: ReadonlyMap<string, string> = new Map([
  ['x64', 'amd64'],
  ['ia32', '386'],
  ['ppc64', 'ppc64le'],
  ['mipsel', 'mipsle'],
  ['loong64', 'loong64'],
]);

/** Kubernetes' name of Node's architecture. */
export function kubernetesArchitecture(arch: string): string {
  return architectures.get(arch) ?? arch;
}

const lookalike = /^v?(\d+\.\d+\.\d+)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$/;

/** A runtime's version without its leading `v`; a version that is not semantic keeps only its dotted numbers. */
export function normalizeRuntimeVersion(version: string): string {
  const text = version.trim();
  if (lookalike.test(text)) return text.replace(/^v/, '');
  const [numbers] = /\d+(\.\d+)*/.exec(text) ?? [];
  return numbers ?? text;
}

export function containerRuntimeVersion(name: string, version: string | undefined): string {
  return `${name}://${version === undefined || version === '' ? 'Unknown' : normalizeRuntimeVersion(version)}`;
}
