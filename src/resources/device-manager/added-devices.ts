/** What the devices of a container bring into it, from all plugins together. */
import type { ContainerAllocateResponse } from './gen/device-plugin.js';

export interface DeviceAdditions {
  readonly envs: readonly { readonly name: string; readonly value: string }[];
  readonly mounts: readonly {
    readonly containerPath: string;
    readonly hostPath: string;
    readonly readOnly: boolean;
  }[];
  readonly devices: readonly {
    readonly containerPath: string;
    readonly hostPath: string;
    readonly permissions: string;
  }[];
  readonly annotations: Readonly<Record<string, string>>;
  readonly cdiDevices: readonly string[];
}

/** Of two answers that claim the same name or path the first one counts. */
export function mergeResponses(responses: readonly ContainerAllocateResponse[]): DeviceAdditions {
  const envs = firstOf(
    responses.flatMap((one) => Object.entries(one.envs)),
    ([name]) => name,
  );
  const annotations = firstOf(
    responses.flatMap((one) => Object.entries(one.annotations)),
    ([name]) => name,
  );
  return {
    envs: [...envs].map(([name, value]) => ({ name, value })).sort((a, b) => (a.name < b.name ? -1 : 1)),
    mounts: firstOf(
      responses.flatMap(({ mounts }) => mounts),
      ({ containerPath }) => containerPath,
    ),
    devices: firstOf(
      responses.flatMap(({ devices }) => devices),
      ({ containerPath }) => containerPath,
    ),
    annotations: Object.fromEntries(annotations),
    cdiDevices: firstOf(
      responses.flatMap(({ cdiDevices }) => cdiDevices),
      ({ name }) => name,
    ).map(({ name }) => name),
  };
}

function firstOf<T>(parts: readonly T[], keyOf: (part: T) => string): readonly T[] {
  const first = new Map<string, T>();
  for (const part of parts) if (!first.has(keyOf(part))) first.set(keyOf(part), part);
  return [...first.values()];
}
