/** The reasons of a plan's actions: the stable name of each with the type of its fields. `docs/timeline.md` shows them. */
import type { NoData } from './entry-data.js';

/** Whose restart policy decided. */
type RestartPolicyOwner = 'pod' | 'container';

/** Why a sandbox cannot be kept. */
type SandboxReasonName =
  | 'NoSandbox'
  | 'SeveralSandboxesReady'
  | 'SandboxNotReady'
  | 'SandboxOnHostNetwork'
  | 'SandboxOffHostNetwork'
  | 'SandboxWithoutIP';

type ChangedResource = 'cpu' | 'memory';

export interface PlanReasons {
  /** The pod has no sandbox yet. */
  NoSandbox: NoData;
  /** Several sandboxes of the pod are ready at the same time. */
  SeveralSandboxesReady: { sandboxes: number };
  /** The newest sandbox is not ready. */
  SandboxNotReady: NoData;
  /** The sandbox has the node's network; the pod does not. */
  SandboxOnHostNetwork: NoData;
  /** The sandbox has a network of its own; the pod has the node's. */
  SandboxOffHostNetwork: NoData;
  /** The sandbox has no IP address. */
  SandboxWithoutIP: NoData;
  /** The pod needs a new sandbox, for the reason `sandbox`, but a pod that ran is not restarted. */
  PodNotRestarted: { sandbox: SandboxReasonName; restartPolicy: string };
  /** The pod needs a new sandbox, for the reason `sandbox`, but no container of it would run again. */
  NothingToRestart: { sandbox: SandboxReasonName };
  /** No regular container of the pod is left to run. */
  NoContainerLeft: NoData;

  /** The container has not run yet. */
  NotRunYet: NoData;
  /** No init container of the pod has run yet. */
  NoInitContainerRun: NoData;
  /** The init container before it has succeeded. */
  InitContainerSucceeded: { initContainer: string };
  /** The sidecar before it has started. */
  SidecarStarted: { initContainer: string };
  /** No instance of the sidecar is left. */
  SidecarGone: NoData;
  /** The container was created but never started. */
  CreatedNotStarted: NoData;
  /** The container has exited, and a restart policy decides. */
  Exited: { exitCode: number; restartPolicy: string; policyOwner: RestartPolicyOwner };
  /** The container has exited, and one of its restart rules decides. */
  ExitedWithRule: { exitCode: number; rule: string };
  /** The sidecar has exited; sidecars keep running. */
  SidecarExited: { exitCode: number };
  /** The state of the container, where it is neither `created` nor `exited`. */
  ContainerState: { state: string };
  /** The pod is being deleted. */
  PodDeleted: NoData;
  /** An init container failed and is not restarted. */
  InitContainerFailed: { initContainer: string; exitCode: number; restartPolicy: string };
  /** The state of an init container is unknown, and it is not restarted. */
  InitContainerLost: { initContainer: string; restartPolicy: string };

  /** The image of the container has changed; the hashes are those of its definition. */
  ImageChanged: { fromHash: string; toHash: string };
  /** The liveness probe of the container failed. */
  LivenessProbeFailed: { restartPolicy: string };
  /** The startup probe of the container failed. */
  StartupProbeFailed: { restartPolicy: string };
  /** A resource of the running container has changed. */
  ResourceChanged: { changed: ChangedResource };
  /** A resource of the container has changed, and its resize policy requires a restart. */
  ResizeRequiresRestart: { changed: ChangedResource };
  /** The resources that the pod has for itself have changed. */
  PodResourcesChanged: NoData;
  /** The size limit of the volume has changed. */
  VolumeSizeChanged: NoData;
  /** All containers of the pod start over, as a rule of one of them says. */
  AllContainersRestart: NoData;
}

type ReasonOf<Name extends keyof PlanReasons> = Name extends keyof PlanReasons
  ? { readonly reason: Name } & (PlanReasons[Name] extends NoData ? unknown : Readonly<PlanReasons[Name]>)
  : never;

export type PlanReason = ReasonOf<keyof PlanReasons>;

export type SandboxReason = ReasonOf<SandboxReasonName>;

/** The reason in words, for `because`. */
export function planReasonText(cause: PlanReason): string {
  switch (cause.reason) {
    case 'SeveralSandboxesReady':
      return `${cause.sandboxes} sandboxes are ready at the same time`;
    case 'NoSandbox':
    case 'SandboxNotReady':
    case 'SandboxOnHostNetwork':
    case 'SandboxOffHostNetwork':
    case 'SandboxWithoutIP':
      return sandboxText[cause.reason];
    case 'PodNotRestarted':
      return `${sandboxText[cause.sandbox]}; a pod that ran is not restarted, policy ${cause.restartPolicy}`;
    case 'NothingToRestart':
      return `${sandboxText[cause.sandbox]}; no container is left to run`;
    case 'NoContainerLeft':
      return 'no regular container is left to run';
    case 'NotRunYet':
      return 'it has not run yet';
    case 'NoInitContainerRun':
      return 'no init container has run yet';
    case 'InitContainerSucceeded':
      return `init container ${cause.initContainer} succeeded`;
    case 'SidecarStarted':
      return `sidecar ${cause.initContainer} has started`;
    case 'SidecarGone':
      return 'no instance of this sidecar is left';
    case 'CreatedNotStarted':
      return 'it was created but never started';
    case 'Exited': {
      const owner = cause.policyOwner === 'container' ? 'container policy' : 'policy';
      return `exited ${cause.exitCode}, ${owner} ${cause.restartPolicy}`;
    }
    case 'ExitedWithRule':
      return `exited ${cause.exitCode}, rule ${cause.rule}`;
    case 'SidecarExited':
      return `exited ${cause.exitCode}, sidecars keep running`;
    case 'ContainerState':
      return `its state is ${cause.state}`;
    case 'PodDeleted':
      return 'the pod is being deleted';
    case 'InitContainerFailed':
      return `init container ${cause.initContainer} failed: exited ${cause.exitCode}, policy ${cause.restartPolicy}`;
    case 'InitContainerLost':
      return `init container ${cause.initContainer} is lost: state unknown, policy ${cause.restartPolicy}`;
    case 'ImageChanged':
      return `its image changed (hash ${cause.fromHash} became ${cause.toHash})`;
    case 'LivenessProbeFailed':
      return `liveness probe failed, policy ${cause.restartPolicy}`;
    case 'StartupProbeFailed':
      return `startup probe failed, policy ${cause.restartPolicy}`;
    case 'ResourceChanged':
      return `its ${cause.changed} changed`;
    case 'ResizeRequiresRestart':
      return `its ${cause.changed} changed, resize policy RestartContainer`;
    case 'PodResourcesChanged':
      return 'the resources that the pod asks for changed';
    case 'VolumeSizeChanged':
      return 'its size limit changed';
    case 'AllContainersRestart':
      return 'all containers of the pod start over';
  }
}

const sandboxText: Readonly<Record<SandboxReasonName, string>> = {
  NoSandbox: 'the pod has no sandbox yet',
  SeveralSandboxesReady: 'several sandboxes are ready at the same time',
  SandboxNotReady: 'the newest sandbox is not ready',
  SandboxOnHostNetwork: "the sandbox has the node's network, the pod does not",
  SandboxOffHostNetwork: 'the sandbox has its own network, the pod does not',
  SandboxWithoutIP: 'the sandbox has no IP address',
};
