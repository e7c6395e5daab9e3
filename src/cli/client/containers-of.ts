/** The containers of a pod, in the order in which people look for them. */
import type { Pod } from '../../kube/types/index.js';

export interface NamedContainer {
  readonly name: string;
  readonly kind: 'container' | 'init' | 'ephemeral';
}

export function containersOf({ spec }: Pod): NamedContainer[] {
  return [
    ...spec.containers.map(({ name }) => ({ name, kind: 'container' as const })),
    ...(spec.initContainers ?? []).map(({ name }) => ({ name, kind: 'init' as const })),
    ...(spec.ephemeralContainers ?? []).map(({ name }) => ({ name, kind: 'ephemeral' as const })),
  ];
}
