/** Names of cgroups as lists of components, and the path that each cgroup driver gives to a name. */

/** The components from the top down; none for the root. */
export type CgroupName = readonly string[];

/** Maps names to paths below the cgroup mounts and back. */
export interface CgroupNaming {
  pathOf(name: CgroupName): string;
  /** Reads a path that this driver made, or one of the configuration. */
  nameOf(path: string): CgroupName;
}

const sliceSuffix = '.slice';
const rootSlice = '-.slice';

/** The components of a path of the configuration, whatever the driver is. */
export function componentsOf(path: string): CgroupName {
  return path.split('/').filter((part) => part !== '');
}

/** A component that the agent adds must survive both drivers. */
export function childOf(parent: CgroupName, component: string): CgroupName {
  if (component === '' || /[/_]/.test(component))
    throw new Error(`the cgroup component ${JSON.stringify(component)} must be set and have neither / nor _`);
  return [...parent, component];
}

export const cgroupfsNaming: CgroupNaming = {
  pathOf: (name) => `/${name.join('/')}`,
  nameOf: componentsOf,
};

export const systemdNaming: CgroupNaming = {
  pathOf(name) {
    if (name.length === 0) return '/';
    return expandSlice(`${name.map((part) => part.replaceAll('-', '_')).join('-')}${sliceSuffix}`);
  },
  nameOf(path) {
    // Only the last slice counts: it names all its parents.
    const base = path.split('/').at(-1) ?? '';
    const stem = base.endsWith(sliceSuffix) ? base.slice(0, -sliceSuffix.length) : base;
    return stem === '' || stem === '-' ? [] : stem.split('-').map((part) => part.replaceAll('_', '-'));
  },
};

/** The path of a slice below its parents: `a-b.slice` is `/a.slice/a-b.slice`. */
export function expandSlice(slice: string): string {
  if (slice === rootSlice) return '/';
  const stem = slice.endsWith(sliceSuffix) ? slice.slice(0, -sliceSuffix.length) : '';
  const parts = stem.split('-');
  if (slice.includes('/') || parts.includes('')) throw new Error(`invalid slice name: ${slice}`);
  return parts.map((_, index) => `/${parts.slice(0, index + 1).join('-')}${sliceSuffix}`).join('');
}

/** A slice and the slice that it belongs to, as systemd calls them. */
export interface SliceUnit {
  readonly unit: string;
  readonly parent: string;
}

export function sliceOf(name: CgroupName): SliceUnit {
  const parts = componentsOf(systemdNaming.pathOf(name));
  return { unit: parts.at(-1) ?? rootSlice, parent: parts.at(-2) ?? rootSlice };
}

/** A name as errors about the existence of a cgroup show it: `["a" "b"]`. */
export function quotedName(name: CgroupName): string {
  return `[${name.map((part) => JSON.stringify(part)).join(' ')}]`;
}

/** A name as errors about changes of a cgroup show it: `[a b]`. */
export function plainName(name: CgroupName): string {
  return `[${name.join(' ')}]`;
}
