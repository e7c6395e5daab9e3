/** The kubelet's rules for each CRI call: its deadline, its name in metrics, and the checks of its response. */
import type { Init, MessageType } from '../grpc/index.js';
import { CriError } from './errors.js';
import type { ContainerMetadata, ContainerStatus, PodSandboxMetadata, PodSandboxStatus } from './gen/cri.js';
import type { CriMethodName, criMethods } from './runtime.js';
import { isNotImplemented } from './runtime-texts.js';

type Methods = typeof criMethods;
export type RequestOf<M extends CriMethodName> =
  Methods[M]['request'] extends MessageType<infer T> ? T : never;
export type ResponseOf<M extends CriMethodName> =
  Methods[M]['response'] extends MessageType<infer T> ? T : never;

/** The label `operation_type` of the runtime operation metrics. A streamed list has the name of the list. */
export const operationTypes = {
  version: 'version',
  status: 'status',
  runtimeConfig: 'runtime_config',
  updateRuntimeConfig: 'update_runtime_config',
  runPodSandbox: 'run_podsandbox',
  stopPodSandbox: 'stop_podsandbox',
  removePodSandbox: 'remove_podsandbox',
  podSandboxStatus: 'podsandbox_status',
  listPodSandbox: 'list_podsandbox',
  streamPodSandboxes: 'list_podsandbox',
  updatePodSandboxResources: 'update_podsandbox_resources',
  createContainer: 'create_container',
  startContainer: 'start_container',
  stopContainer: 'stop_container',
  removeContainer: 'remove_container',
  listContainers: 'list_containers',
  streamContainers: 'list_containers',
  containerStatus: 'container_status',
  updateContainerResources: 'update_container',
  reopenContainerLog: 'reopen_container_log',
  checkpointContainer: 'checkpoint_container',
  checkpointPod: 'checkpoint_pod',
  restorePod: 'restore_pod',
  getContainerEvents: 'get_container_events',
  execSync: 'exec_sync',
  exec: 'exec',
  attach: 'attach',
  portForward: 'port_forward',
  containerStats: 'container_stats',
  listContainerStats: 'list_container_stats',
  streamContainerStats: 'list_container_stats',
  podSandboxStats: 'podsandbox_stats',
  listPodSandboxStats: 'list_podsandbox_stats',
  streamPodSandboxStats: 'list_podsandbox_stats',
  listMetricDescriptors: 'list_metric_descriptors',
  listPodSandboxMetrics: 'list_podsandbox_metrics',
  streamPodSandboxMetrics: 'list_podsandbox_metrics',
  listImages: 'list_images',
  streamImages: 'list_images',
  imageStatus: 'image_status',
  pullImage: 'pull_image',
  removeImage: 'remove_image',
  imageFsInfo: 'image_fs_info',
} as const satisfies Record<CriMethodName, string>;
export type OperationType = (typeof operationTypes)[CriMethodName] | 'close';

export interface CallRule<Request, Response> {
  /** The deadline, if it is not the request timeout; `undefined` means no deadline. */
  readonly timeoutMs?: (request: Init<Request>, requestTimeoutMs: number) => number | undefined;
  /** Returns the request to send. Throws when it must not be sent. */
  readonly prepare?: (request: Init<Request>, requestTimeoutMs: number) => Init<Request>;
  /** The problem of the response, if it has one. */
  readonly problem?: (response: Response, request: Init<Request>) => string | undefined;
  /** The error for the caller. */
  readonly reword?: (error: CriError, request: Init<Request>) => CriError;
  /** Whether the error means that the desired state is reached; the call then returns an empty response. */
  readonly forgive?: (error: CriError) => boolean;
}

const MS = 1000;
const urlProblem = ({ url }: { readonly url: string }): string | undefined =>
  url === '' ? 'URL is not set' : undefined;
const none = (): undefined => undefined;

export const callRules: { readonly [M in CriMethodName]?: CallRule<RequestOf<M>, ResponseOf<M>> } = {
  version: {
    problem(response) {
      const missing = [
        response.version === '' ? ['Version'] : [],
        response.runtimeName === '' ? ['RuntimeName'] : [],
        response.runtimeApiVersion === '' ? ['RuntimeApiVersion'] : [],
        response.runtimeVersion === '' ? ['RuntimeVersion'] : [],
      ].flat();
      if (missing.length === 0) return undefined;
      return `not all fields are set in VersionResponse (missing ${missing.join(', ')})`;
    },
  },
  status: {
    problem: ({ status }) =>
      (status?.conditions.length ?? 0) < 2 ? 'RuntimeReady or NetworkReady condition are not set' : undefined,
  },
  runPodSandbox: {
    timeoutMs: (_, requestTimeoutMs) => 2 * requestTimeoutMs,
    problem: ({ podSandboxId }, { config }) =>
      podSandboxId === ''
        ? `PodSandboxId is not set for sandbox ${quoteMetadata(config?.metadata)}`
        : undefined,
  },
  podSandboxStatus: { problem: ({ status }) => sandboxStatusProblem(status) },
  createContainer: {
    problem: ({ containerId }, { config }) =>
      containerId === ''
        ? `ContainerId is not set for container ${quoteMetadata(config?.metadata)}`
        : undefined,
  },
  stopContainer: {
    timeoutMs: ({ timeout = 0 }, requestTimeoutMs) => requestTimeoutMs + timeout * MS,
    forgive: (error) => error.codeName === 'NotFound',
  },
  containerStatus: { problem: ({ status }) => containerStatusProblem(status) },
  updatePodSandboxResources: {
    forgive: isNotImplemented,
  },
  checkpointContainer: {
    timeoutMs: ({ timeout = 0 }, requestTimeoutMs) => Math.max(timeout * MS, requestTimeoutMs),
    prepare(request, requestTimeoutMs) {
      const { timeout = 0 } = request;
      if (timeout < 0) throw plainError('CheckpointContainer requires the timeout value to be > 0');
      return { ...request, timeout: Math.max(timeout, Math.trunc(requestTimeoutMs / MS)) };
    },
  },
  getContainerEvents: { timeoutMs: none },
  execSync: {
    timeoutMs: ({ timeout = 0 }, requestTimeoutMs) =>
      timeout === 0 ? undefined : timeout * MS + requestTimeoutMs,
    reword(error, { cmd = [], timeout = 0 }) {
      if (error.codeName !== 'DeadlineExceeded') return error;
      const message = `command timed out: ${JSON.stringify(cmd.join(' '))} timed out after ${printSeconds(timeout)}`;
      return new CriError('DeadlineExceeded', error.details, { message, cause: error });
    },
  },
  exec: { problem: urlProblem },
  attach: { problem: urlProblem },
  portForward: { problem: urlProblem },
  imageStatus: {
    problem({ image }, request) {
      if (image === undefined || (image.id !== '' && image.size !== 0)) return undefined;
      return `Id or size of image ${JSON.stringify(request.image?.image ?? '')} is not set`;
    },
  },
  pullImage: {
    timeoutMs: none,
    problem: ({ imageRef }, { image }) =>
      imageRef === '' ? `imageRef of image ${JSON.stringify(image?.image ?? '')} is not set` : undefined,
    reword: (error) => (error.codeName === 'Unknown' ? plainError(error.details, error) : error),
  },
};

/** An error of the agent itself, so its text has no `rpc error` prefix. */
export function plainError(message: string, cause?: unknown): CriError {
  return new CriError('Unknown', message, { message, cause });
}

function sandboxStatusProblem(status: PodSandboxStatus | undefined): string | undefined {
  if (status === undefined) return 'pod sandbox status is nil';
  const { id, metadata, createdAt } = status;
  if (id === '') return 'status.Id is not set';
  if (metadata === undefined) return 'status.Metadata is not set';
  if (metadata.name === '' || metadata.namespace === '' || metadata.uid === '') {
    return `metadata.Name, metadata.Namespace or metadata.Uid is not in metadata ${quoteMetadata(metadata)}`;
  }
  return createdAt === 0n ? 'status.CreatedAt is not set' : undefined;
}

function containerStatusProblem(status: ContainerStatus | undefined): string | undefined {
  if (status === undefined) return 'container status is nil';
  const { id, metadata, createdAt, image, imageRef } = status;
  if (id === '') return 'status.Id is not set';
  if (metadata === undefined) return 'status.Metadata is not set';
  if (metadata.name === '') return `metadata.Name is not in metadata ${quoteMetadata(metadata)}`;
  if (createdAt === 0n) return 'status.CreatedAt is not set';
  if (image === undefined || image.image === '') return 'status.Image is not set';
  return imageRef === '' ? 'status.ImageRef is not set' : undefined;
}

/** The message in protobuf's text form, quoted: `"name:\"web\" attempt:1"`. */
function quoteMetadata(metadata: Init<PodSandboxMetadata> | Init<ContainerMetadata> | undefined): string {
  const fields = Object.entries(metadata ?? {}).filter(
    ([, value]) => value !== '' && value !== 0 && value !== undefined,
  );
  return JSON.stringify(fields.map(([name, value]) => `${name}:${JSON.stringify(value)}`).join(' '));
}

/** Whole seconds in Go's notation: `10s`, `1m20s`, `1h0m0s`. */
function printSeconds(seconds: number): string {
  const hours = Math.trunc(seconds / 3600);
  const minutes = Math.trunc((seconds % 3600) / 60);
  const head = hours > 0 ? `${hours}h${minutes}m` : minutes > 0 ? `${minutes}m` : '';
  return `${head}${seconds % 60}s`;
}
