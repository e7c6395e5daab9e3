/** Adds to a container's config what the node's resource managers give it: variables, files, devices, annotations. */
import type { ContainerConfig, Init, Mount } from '../../cri/index.js';
import type { ContainerAdditions } from '../contracts.js';
import type { EnvValue } from './environment.js';

/** Of two managers that give the same the first one wins; names of CDI devices all stay. */
export function mergeAdditions(all: readonly ContainerAdditions[]): ContainerAdditions {
  if (all.length === 1 && all[0] !== undefined) return all[0];
  return {
    envs: firstOf(
      all.flatMap(({ envs = [] }) => envs),
      ({ name }) => name,
    ),
    mounts: firstOf(
      all.flatMap(({ mounts = [] }) => mounts),
      ({ containerPath }) => containerPath,
    ),
    devices: firstOf(
      all.flatMap(({ devices = [] }) => devices),
      ({ containerPath }) => containerPath,
    ),
    annotations: Object.fromEntries(
      all.flatMap(({ annotations = {} }) => Object.entries(annotations)).reverse(),
    ),
    cdiDevices: all.flatMap(({ cdiDevices = [] }) => cdiDevices),
  };
}

function firstOf<T>(items: readonly T[], keyOf: (item: T) => string): readonly T[] {
  const first = new Map<string, T>();
  for (const item of items) if (!first.has(keyOf(item))) first.set(keyOf(item), item);
  return [...first.values()];
}

/** Variables come before the pod's own, which win in the container; the agent's own annotations win. */
export function withAdditions(
  config: Init<ContainerConfig>,
  additions: ContainerAdditions | undefined,
): Init<ContainerConfig> {
  if (additions === undefined) return config;
  const { envs = [], devices = [], annotations = {}, cdiDevices = [] } = additions;
  const { devices: own = [], cdiDevices: ownCdi = [] } = config;
  return {
    ...config,
    envs: [
      ...envs.map(({ name, value }) => ({ key: name, value: Buffer.from(value, 'utf8') })),
      ...(config.envs ?? []),
    ],
    annotations: { ...annotations, ...config.annotations },
    ...(devices.length + own.length === 0 ? {} : { devices: [...devices, ...own] }),
    ...(cdiDevices.length + ownCdi.length === 0
      ? {}
      : { cdiDevices: [...ownCdi, ...cdiDevices.map((name) => ({ name }))] }),
  };
}

/** They come before the mounts of volumes. */
export function addedMounts(additions: ContainerAdditions | undefined): readonly Init<Mount>[] {
  return (additions?.mounts ?? []).map(({ containerPath, hostPath, readOnly }) => ({
    containerPath,
    hostPath,
    readonly: readOnly,
  }));
}

/** What `$(NAME)` in commands, arguments and sub-paths refers to. */
export function expandableEnvironment(
  environment: ReadonlyMap<string, EnvValue>,
  additions: ContainerAdditions | undefined,
): ReadonlyMap<string, EnvValue> {
  const { envs = [] } = additions ?? {};
  if (envs.length === 0) return environment;
  return new Map([...envs.map(({ name, value }): [string, EnvValue] => [name, value]), ...environment]);
}
