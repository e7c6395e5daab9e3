/** What a soak does to a node, as data: each step of the churn and each fault, with its moment in the cycle. */
import type { PlannedPod } from './shapes.js';

export type ApiTrouble = 'refuse' | 'black-hole' | 'cut-answers' | 'delay' | 'reset';

export type Fault =
  | { readonly kind: 'kill-agent'; readonly downMs: number }
  | { readonly kind: 'stop-agent'; readonly downMs: number }
  | { readonly kind: 'kill-runtime'; readonly downMs: number }
  | { readonly kind: 'freeze-runtime'; readonly forMs: number }
  | { readonly kind: 'fill-disk'; readonly forMs: number }
  | { readonly kind: 'cut-api'; readonly trouble: ApiTrouble; readonly forMs: number };

export const clientKinds = ['exec', 'logs', 'port-forward', 'stats'] as const;

export type ClientKind = (typeof clientKinds)[number];

export type Step =
  | { readonly kind: 'create'; readonly pod: PlannedPod }
  /** The pod has a new revision: replaced where pods are files, changed in place where the API allows it. */
  | { readonly kind: 'change'; readonly pod: PlannedPod }
  | { readonly kind: 'delete'; readonly name: string; readonly force: boolean }
  | { readonly kind: 'resize'; readonly name: string; readonly cpuMillis: number }
  | { readonly kind: 'write-objects'; readonly version: number }
  | {
      readonly kind: 'client';
      readonly client: ClientKind;
      readonly name: string;
      readonly lastsMs: number;
      /** Goes away in the middle, without a word. */
      readonly breaksOff: boolean;
    }
  | { readonly kind: 'fault'; readonly fault: Fault };

export interface TimedStep {
  readonly atMs: number;
  readonly step: Step;
}

export interface Cycle {
  readonly index: number;
  /** In the order of their moments. */
  readonly steps: readonly TimedStep[];
  /** Pods of this cycle that are still wanted when the churn pauses. */
  readonly left: readonly PlannedPod[];
  /** The agent is killed or stopped in it. */
  readonly endsLives: boolean;
}
