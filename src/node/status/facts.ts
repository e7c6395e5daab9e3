/** The inputs of a node's status: configuration and a snapshot of observations. */
import type { AddressSettings } from '../addresses/addresses.js';
import type { NetworkFacts } from '../addresses/local-ip.js';
import type { MachineInfo, PlatformFacts } from '../machine/facts.js';
import type { CapacitySettings, DeviceResources } from './capacity.js';
import type { NodeEvent, ReadinessFacts } from './conditions.js';
import type { KnownImage } from './images.js';

/** A feature of the node that takes a part in the runtime. */
export interface RuntimeBoundFeature {
  readonly feature: string;
  /** How the runtime calls its part. */
  readonly part: 'mountOptions' | 'userNamespacesHostNetwork';
}

export interface StatusSettings {
  readonly addresses: AddressSettings;
  readonly capacity: CapacitySettings;
  /** The kubelet's version, such as `v1.37.1`. */
  readonly kubeletVersion: string;
  /** Port of the kubelet API. */
  readonly port: number;
  /** -1 for no limit. */
  readonly maxImages: number;
  /** Features that schedulers may rely on; undefined if nodes do not declare any. */
  readonly declaredFeatures: readonly string[] | undefined;
  /** Features that are declared, too, once the runtime says that it has its part of them. */
  readonly declaredWithRuntime?: readonly RuntimeBoundFeature[];
  /** Undefined if nodes do not tell. */
  readonly runningInUserNamespace: boolean | undefined;
}

export interface RuntimeHandlerFacts {
  readonly name: string;
  readonly recursiveReadOnlyMounts: boolean;
  readonly userNamespaces: boolean;
}

export interface StatusFacts {
  readonly nowMs: number;
  readonly network: NetworkFacts;
  /** The addresses that the node's name resolves to, if needed. */
  readonly resolved: readonly string[];
  /** Undefined if the machine could not be read. */
  readonly machine: MachineInfo | undefined;
  readonly platform: PlatformFacts;
  readonly devices: DeviceResources;
  readonly runtime: {
    readonly name: string;
    /** Undefined if it did not respond. */
    readonly version: string | undefined;
    readonly handlers: readonly RuntimeHandlerFacts[];
    /** Undefined if it reports no features. */
    readonly features:
      | ({ readonly supplementalGroupsPolicy: boolean } & {
          readonly [part in RuntimeBoundFeature['part']]?: boolean;
        })
      | undefined;
  };
  readonly images: readonly KnownImage[];
  readonly pressure: { readonly memory: boolean; readonly disk: boolean; readonly pid: boolean };
  readonly readiness: ReadinessFacts;
  /** Undefined until the attachments of earlier runs are known. */
  readonly volumesInUse: readonly string[] | undefined;
}

/** State kept between two statuses, so that each change is reported once. */
export interface StatusMemory {
  readonly rebootTold: boolean;
  readonly unschedulable: boolean;
}

export const freshMemory: StatusMemory = { rebootTold: false, unschedulable: false };

export interface StatusOutcome<T> {
  readonly node: T;
  readonly events: readonly NodeEvent[];
  /** What could not be determined; the affected parts stay unchanged. */
  readonly problems: readonly string[];
  readonly memory: StatusMemory;
}
