/** What the main thread and the threads with nodes say to each other. */
import type { HollowNodeRequest, HollowOutcome } from '../fleet/contracts.js';
import type { HollowAction, HollowReport, HollowSettings } from './contracts.js';

/** What a thread is started with. */
export interface ThreadData {
  readonly settings: HollowSettings;
}

export type ThreadCall =
  | { readonly call: 'add'; readonly nodes: readonly HollowNodeRequest[] }
  | {
      readonly call: 'act';
      readonly action: HollowAction;
      readonly names: readonly string[];
      readonly keepsNodes: boolean;
    }
  | { readonly call: 'report' }
  | { readonly call: 'stop'; readonly deletesNodes: boolean };

export type ThreadRequest = ThreadCall & { readonly id: number };

/** The answer of each call. */
export interface ThreadAnswers {
  readonly add: undefined;
  readonly act: readonly HollowOutcome[];
  readonly report: HollowReport;
  readonly stop: readonly HollowOutcome[];
}

export type ThreadMessage =
  /** It has its connections. */
  | { readonly kind: 'open' }
  | { readonly kind: 'problem'; readonly nodeName: string; readonly message: string }
  | { readonly kind: 'answer'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'failure'; readonly id: number; readonly message: string };
