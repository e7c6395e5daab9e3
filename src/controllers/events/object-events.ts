/** How controllers tell users what they did: the port to Kubernetes events. */
import type { KubeObject } from '../../kube/index.js';
import type { Resource } from '../../kube-client/index.js';

export interface ObjectEvent {
  /** Who tells it, such as `deployment-controller`. */
  readonly component: string;
  readonly resource: Resource;
  readonly object: KubeObject;
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  /** Default: the reason of the reference's controllers, which is none. */
  readonly action?: string;
}

export interface ObjectEvents {
  /** Never fails and never waits: an event that cannot be written is lost. */
  record(event: ObjectEvent): void;
}
