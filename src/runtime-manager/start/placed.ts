/** Gives containers what the node's resource managers chose for them: CPUs, memory, devices. */
import type { ContainerConfig, Init } from '../../cri/index.js';
import { mergeAdditions } from '../config/additions.js';
import type { ContainerPlacement, ContainerPlaces, InternalLifecycle } from '../contracts.js';

/** Places of containers that are about to be created, by pod and name: a container is created once at a time. */
const mostWaiting = 10_000;

export function placedBy(placements: readonly ContainerPlacement[]): InternalLifecycle {
  const waiting = new Map<string, readonly ContainerPlaces[]>();
  return {
    async additions(pod, container, signal) {
      return mergeAdditions(
        await Promise.all(
          placements.map(async (placement) => (await placement.additions?.(pod, container, signal)) ?? {}),
        ),
      );
    },
    async preCreate(pod, container, config) {
      const places = await Promise.all(
        placements.map(async (placement) => (await placement.places?.(pod, container)) ?? {}),
      );
      const key = `${pod.metadata.uid}/${container.name}`;
      waiting.delete(key);
      waiting.set(key, places);
      const [oldest] = waiting.keys();
      if (waiting.size > mostWaiting && oldest !== undefined) waiting.delete(oldest);
      return places.reduce(withPlaces, config);
    },
    async preStart(pod, container, containerId) {
      const key = `${pod.metadata.uid}/${container.name}`;
      const places = waiting.get(key) ?? [];
      waiting.delete(key);
      for (const [index, placement] of placements.entries())
        placement.created?.(pod, container, containerId, places[index] ?? {});
    },
    async postStop(containerId) {
      for (const placement of placements) placement.stopped?.(containerId);
    },
  };
}

function withPlaces(
  config: Init<ContainerConfig>,
  { cpus = '', mems = '' }: ContainerPlaces,
): Init<ContainerConfig> {
  if (cpus === '' && mems === '') return config;
  const { linux } = config;
  return {
    ...config,
    linux: {
      ...linux,
      resources: {
        ...linux?.resources,
        ...(cpus === '' ? {} : { cpusetCpus: cpus }),
        ...(mems === '' ? {} : { cpusetMems: mems }),
      },
    },
  };
}
