/** What the machine is, as the node object tells it; read once at the start. */

export interface HugePages {
  readonly pageSizeBytes: number;
  readonly pages: number;
}

export interface MachineFacts {
  /** Online logical CPUs. */
  readonly cpus: number;
  readonly memoryBytes: number;
  readonly swapBytes: number;
  readonly hugePages: readonly HugePages[];
  /** Of the file system that holds the root directory; undefined when it could not be asked. */
  readonly rootFilesystemBytes: number | undefined;
  readonly machineId: string;
  readonly systemUuid: string;
  readonly bootId: string;
}

/** What does not change while the process lives and is no matter of capacity. */
export interface PlatformFacts {
  readonly kernelVersion: string;
  readonly osImage: string;
  /** As Go names it: `amd64`, `arm64` … */
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

/** How many CPUs a list such as `0-3,8` names; undefined when it is none. */
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

/** PRETTY_NAME without its quotes; `Linux` when the file has none. */
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

/** Node's name of an architecture as Kubernetes writes it. */
export function kubernetesArchitecture(arch: string): string {
  return architectures.get(arch) ?? arch;
}

const lookalike = /^v?(\d+\.\d+\.\d+)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$/;

/** A runtime's version without its leading `v`; one that is no semantic version keeps only its dotted numbers. */
export function normalizeRuntimeVersion(version: string): string {
  const text = version.trim();
  if (lookalike.test(text)) return text.replace(/^v/, '');
  const [numbers] = /\d+(\.\d+)*/.exec(text) ?? [];
  return numbers ?? text;
}

export function containerRuntimeVersion(name: string, version: string | undefined): string {
  return `${name}://${version === undefined || version === '' ? 'Unknown' : normalizeRuntimeVersion(version)}`;
}
