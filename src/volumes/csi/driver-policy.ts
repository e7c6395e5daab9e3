/** What a driver's CSIDriver object asks of the node; absent objects have the defaults of the API. */

export type FsGroupPolicy = 'ReadWriteOnceWithFSType' | 'File' | 'None';
export type VolumeLifecycleMode = 'Persistent' | 'Ephemeral';

export interface DriverPolicy {
  /** Whether there is an object at all. */
  readonly exists: boolean;
  readonly attachRequired: boolean;
  readonly podInfoOnMount: boolean;
  readonly volumeLifecycleModes: readonly string[];
  /** As the object has it; one that this node does not know is refused at its use. */
  readonly fsGroupPolicy: string;
  readonly tokenRequests: readonly { readonly audience: string; readonly expirationSeconds?: number }[];
  readonly tokensInSecrets: boolean;
  readonly requiresRepublish: boolean;
  /** Whether volumes can be mounted with SELinux labels. */
  readonly seLinuxMount: boolean;
  /** How often the driver is asked how many volumes it can attach; never without it. */
  readonly nodeAllocatableUpdatePeriodSeconds?: number | undefined;
}

export const policyWithoutObject: DriverPolicy = {
  exists: false,
  attachRequired: true,
  podInfoOnMount: false,
  volumeLifecycleModes: ['Persistent'],
  fsGroupPolicy: 'ReadWriteOnceWithFSType',
  tokenRequests: [],
  tokensInSecrets: false,
  requiresRepublish: false,
  seLinuxMount: false,
};

/** The policies of drivers, as the cluster has them. */
export interface DriverPolicies {
  /** Waits until the cluster's objects are known. */
  synced(signal: AbortSignal): Promise<void>;
  /** Undefined until the cluster's objects are known. */
  get(driver: string): DriverPolicy | undefined;
  /** Calls back when a policy may have changed; returns how to end that. Absent where none ever does. */
  onChange?(listener: () => void): () => void;
}

/** Without a cluster there is nobody to attach volumes, and nothing that limits what a driver may be used for. */
export const standalonePolicies: DriverPolicies = {
  synced: async () => {},
  get: () => ({
    ...policyWithoutObject,
    attachRequired: false,
    volumeLifecycleModes: ['Persistent', 'Ephemeral'],
  }),
};
