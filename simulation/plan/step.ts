/** A plan: all that happens to a simulated node from outside, as data that can be shortened and printed. */

import type { CriCodeName, CriMethodName } from '../../src/cri/index.js';
import type { ApiVerb } from '../../test/sim/api-line.js';

/** What a container of a pod is like; durations are those of the simulated runtime's annotations. */
export interface PodDraft {
  readonly containers: number;
  readonly init?: 'plain' | 'sidecar';
  readonly graceSeconds: number;
  readonly restartPolicy?: 'Always' | 'OnFailure' | 'Never';
  readonly sim?: Readonly<Record<string, string>>;
  readonly probes?: boolean;
  readonly volumes?: boolean;
  readonly preStop?: boolean;
  readonly cpu?: string;
  readonly memory?: string;
  readonly hostNetwork?: boolean;
  /** All containers have requests like their limits, so that whole CPUs are theirs alone. */
  readonly guaranteed?: boolean;
  /** Of the first container. */
  readonly hostPort?: number;
  /** How many devices of the plugin the first container has. */
  readonly devices?: number;
  /** The name of a claim; only one pod may use one whose name begins with `pod-`. */
  readonly claim?: string;
}

/** What happens to a call; the codes are those of its port. */
export type Effect =
  /** The other side refuses and does nothing. */
  | { readonly do: 'fail'; readonly code: string }
  /** The other side acts, and its answer is lost. */
  | { readonly do: 'lose' }
  /** The call arrives so much later. */
  | { readonly do: 'delay'; readonly ms: number }
  /** The other side acts at once, and its answer comes so much later. */
  | { readonly do: 'late'; readonly ms: number }
  /** Nothing comes back until the caller gives up. */
  | { readonly do: 'hang' }
  /** Something on the way repeats the call. */
  | { readonly do: 'twice' };

export type PortName = 'cri' | 'api' | 'host' | 'device' | 'csi';

/** Strikes the calls of a port from its time on. */
export interface CallFault {
  readonly port: PortName;
  /** Any when absent; an API call is `verb plural`, a host call its operation. */
  readonly call?: string;
  /** Calls that pass first. */
  readonly skip: number;
  readonly times: number;
  readonly effect: Effect;
}

/** Where a process dies: at a change that it makes to the outside, before or after it is made. */
export interface DeathPoint {
  /** Changes that pass first. */
  readonly skip: number;
  readonly when: 'before' | 'after';
}

export type Act =
  // Users of the cluster.
  | { readonly act: 'create'; readonly name: string; readonly draft: PodDraft }
  | { readonly act: 'delete'; readonly name: string; readonly graceSeconds?: number }
  | { readonly act: 'edit'; readonly name: string; readonly image: string }
  | { readonly act: 'resize'; readonly name: string; readonly cpu: string }
  | { readonly act: 'config'; readonly name: string; readonly value: string }
  /** A manifest on the node; without a draft it is removed. */
  | {
      readonly act: 'manifest';
      readonly name: string;
      readonly image?: string;
      readonly graceSeconds: number;
    }
  // The machine and its runtime. `pick` chooses among those that are there.
  | { readonly act: 'exit'; readonly pick: number; readonly code: number }
  | { readonly act: 'kill-sandbox'; readonly pick: number }
  | { readonly act: 'forget-container'; readonly pick: number }
  | { readonly act: 'forget-sandbox'; readonly pick: number }
  | { readonly act: 'invent-container'; readonly pick: number }
  | { readonly act: 'break-events' }
  | { readonly act: 'runtime-away'; readonly forMs: number }
  | { readonly act: 'network-away'; readonly forMs: number }
  | { readonly act: 'reboot'; readonly power: 'kept' | 'lost'; readonly downMs: number }
  | { readonly act: 'disk-full'; readonly forMs: number }
  | { readonly act: 'jump'; readonly byMs: number }
  /** The machine has too little left, and then enough again. */
  | { readonly act: 'pressure'; readonly of: 'memory' | 'disk'; readonly forMs: number }
  // The plugins of the machine: their processes end, and come back.
  | { readonly act: 'device-plugin-away'; readonly forMs: number }
  | { readonly act: 'csi-driver-away'; readonly forMs: number }
  /** A healthy device falls ill, or gets well. */
  | { readonly act: 'device-health'; readonly pick: number }
  // The cluster's API.
  | { readonly act: 'api-away'; readonly forMs: number }
  | { readonly act: 'cut-watches' }
  | { readonly act: 'end-watches' }
  | { readonly act: 'compact' }
  /** Watches tell old versions of pods again. */
  | { readonly act: 'replay-watches' }
  // The kubelet.
  | { readonly act: 'die'; readonly at: DeathPoint; readonly downMs: number }
  | { readonly act: 'stop'; readonly downMs: number }
  | { readonly act: 'fault'; readonly fault: CallFault };

export type Step = { readonly atMs: number } & Act;

/** The parts of a node that not every life has. */
export interface NodeDraft {
  readonly events: boolean;
  readonly cpuManager: boolean;
  readonly eviction: boolean;
  readonly startsAtOnce: number;
  readonly devices?: boolean;
  readonly csi?: boolean;
}

export interface Plan {
  /** Decides the chance that the kubelets themselves take: jitter, and choices among what is ready. */
  readonly seed: number;
  readonly node: NodeDraft;
  readonly steps: readonly Step[];
  /** From here on nothing goes wrong. */
  readonly calmAtMs: number;
}

export type CriFaultCode = Extract<
  CriCodeName,
  'Unknown' | 'Unavailable' | 'DeadlineExceeded' | 'Internal' | 'ResourceExhausted' | 'NotFound'
>;
export type { ApiVerb, CriMethodName };
