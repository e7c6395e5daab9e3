/** The status messages of sandboxes and containers of in-process runtimes. */
import { join } from 'node:path';
import {
  type ContainerStatus,
  type LinuxContainerResources,
  type LinuxContainerUser,
  NamespaceMode,
  PodSandboxState,
  type PodSandboxStatus,
} from '../cri/index.js';
import { criContainerState, type StoredContainer, type StoredSandbox } from './pod-store.js';

export function sandboxStatus(sandbox: StoredSandbox): PodSandboxStatus {
  const { config } = sandbox;
  const options = config.linux?.securityContext?.namespaceOptions;
  return {
    id: sandbox.id,
    metadata: config.metadata,
    state: sandbox.ready ? PodSandboxState.SANDBOX_READY : PodSandboxState.SANDBOX_NOTREADY,
    createdAt: sandbox.createdAt,
    network: { ip: sandbox.ip, additionalIps: [] },
    linux: {
      namespaces: {
        options: {
          network: options?.network ?? NamespaceMode.POD,
          pid: options?.pid ?? NamespaceMode.POD,
          ipc: options?.ipc ?? NamespaceMode.POD,
          targetId: '',
          usernsOptions: options?.usernsOptions,
        },
      },
    },
    labels: config.labels,
    annotations: config.annotations,
    runtimeHandler: sandbox.runtimeHandler,
  };
}

export interface ContainerStatusParts {
  readonly user: LinuxContainerUser;
  readonly resources: LinuxContainerResources | undefined;
}

export function containerStatus(
  container: StoredContainer<StoredSandbox>,
  { user, resources }: ContainerStatusParts,
): ContainerStatus {
  const { config, state, sandbox } = container;
  const end = state.kind === 'exited' ? state : undefined;
  return {
    id: container.id,
    metadata: config.metadata,
    state: criContainerState(state),
    createdAt: container.createdAt,
    startedAt: state.kind === 'running' || state.kind === 'exited' ? state.startedAt : 0n,
    finishedAt: end?.finishedAt ?? 0n,
    exitCode: end?.exitCode ?? 0,
    image: config.image,
    imageRef: container.imageRef,
    reason: end?.reason ?? '',
    message: end?.message ?? '',
    labels: config.labels,
    annotations: config.annotations,
    mounts: config.mounts,
    logPath: containerLogPath(sandbox.config.logDirectory, config.logPath),
    resources: resources === undefined ? undefined : { linux: resources, windows: undefined },
    imageId: container.imageId,
    user: { linux: user },
    stopSignal: config.stopSignal,
  };
}

/** The path of a container's log; empty when it has none. */
export function containerLogPath(logDirectory: string, logPath: string): string {
  return logDirectory === '' || logPath === '' ? '' : join(logDirectory, logPath);
}
