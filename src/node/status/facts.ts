/** Everything that a node's status is decided from: what was configured, and what is seen at one moment. */
import type { AddressSettings } from '../addresses/addresses.js';
import type { NetworkFacts } from '../addresses/local-ip.js';
import type { MachineFacts, PlatformFacts } from '../machine/facts.js';
import type { CapacitySettings, DeviceResources } from './capacity.js';
import type { NodeEvent, ReadinessFacts } from './conditions.js';
import type { KnownImage } from './images.js';

export interface StatusSettings {
  readonly addresses: AddressSettings;
  readonly capacity: CapacitySettings;
  /** Own version, such as `v1.36.4`. */
  readonly kubeletVersion: string;
  /** Of the kubelet's own API. */
  readonly port: number;
  /** -1: no limit. */
  readonly maxImages: number;
  /** Features that schedulers may rely on; undefined where nodes do not declare any. */
  readonly declaredFeatures: readonly string[] | undefined;
}

export interface RuntimeHandlerFacts {
  readonly name: string;
  readonly recursiveReadOnlyMounts: boolean;
  readonly userNamespaces: boolean;
}

export interface StatusFacts {
  readonly nowMs: number;
  readonly network: NetworkFacts;
  /** What the node's name resolves to, where that matters. */
  readonly resolved: readonly string[];
  /** Undefined when the machine could not be read. */
  readonly machine: MachineFacts | undefined;
  readonly platform: PlatformFacts;
  readonly devices: DeviceResources;
  readonly runtime: {
    readonly name: string;
    /** Undefined when it did not answer. */
    readonly version: string | undefined;
    readonly handlers: readonly RuntimeHandlerFacts[];
    /** Undefined when it reports no features. */
    readonly features: { readonly supplementalGroupsPolicy: boolean } | undefined;
  };
  readonly images: readonly KnownImage[];
  readonly pressure: { readonly memory: boolean; readonly disk: boolean; readonly pid: boolean };
  readonly readiness: ReadinessFacts;
  /** Undefined until it is known what earlier runs left attached. */
  readonly volumesInUse: readonly string[] | undefined;
}

/** What is remembered from one status to the next, to tell each change once. */
export interface StatusMemory {
  readonly rebootTold: boolean;
  readonly unschedulable: boolean;
}

export const freshMemory: StatusMemory = { rebootTold: false, unschedulable: false };

export interface StatusOutcome<T> {
  readonly node: T;
  readonly events: readonly NodeEvent[];
  /** What could not be decided; the parts in question stay as they were. */
  readonly problems: readonly string[];
  readonly memory: StatusMemory;
}
