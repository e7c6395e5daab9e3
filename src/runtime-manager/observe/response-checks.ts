/**
 * Checks for the required part of a runtime's response; a successful call without it is the runtime's fault.
 */
import type {
  ContainerStatus as CriContainerStatus,
  ContainerStatusResponse as CriContainerStatusResponse,
  PodSandboxStatus as CriSandboxStatus,
  PodSandboxStatusResponse as CriSandboxStatusResponse,
} from '../../cri/index.js';

export function checkedSandboxStatus({ status }: CriSandboxStatusResponse): CriSandboxStatus {
  if (status === undefined) throw new Error('pod sandbox status is nil');
  return status;
}

export function checkedContainerStatus({ status }: CriContainerStatusResponse): CriContainerStatus {
  if (status === undefined) throw new Error('container status is nil');
  return status;
}
