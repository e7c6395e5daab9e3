/** Refuses answers of a runtime that lack what the agent lives on. */
import type {
  ContainerStatus as CriContainerStatus,
  ContainerStatusResponse as CriContainerStatusResponse,
  PodSandboxStatus as CriSandboxStatus,
  PodSandboxStatusResponse as CriSandboxStatusResponse,
} from '../cri/index.js';

export function checkedSandboxStatus({ status }: CriSandboxStatusResponse): CriSandboxStatus {
  if (status === undefined) throw new Error('pod sandbox status is nil');
  const { id, metadata, createdAt } = status;
  requireAll(`sandbox "${id}"`, {
    id,
    'metadata.name': metadata?.name,
    'metadata.namespace': metadata?.namespace,
    'metadata.uid': metadata?.uid,
    created_at: createdAt,
  });
  return status;
}

export function checkedContainerStatus({ status }: CriContainerStatusResponse): CriContainerStatus {
  if (status === undefined) throw new Error('container status is nil');
  const { id, metadata, createdAt, image, imageRef } = status;
  requireAll(`container "${id}"`, {
    id,
    'metadata.name': metadata?.name,
    created_at: createdAt,
    'image.image': image?.image,
    image_ref: imageRef,
  });
  return status;
}

function requireAll(of: string, fields: Readonly<Record<string, string | bigint | undefined>>): void {
  const missing = Object.entries(fields)
    .filter(([, value]) => value === undefined || value === '' || value === 0n)
    .map(([name]) => name);
  if (missing.length > 0) {
    throw new Error(`the runtime's status of ${of} does not set ${missing.join(', ')}`);
  }
}
