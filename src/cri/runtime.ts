/** The port `CriRuntime`: both CRI services as one TypeScript interface, for every runtime. */
import type { CallOptions, Init } from '../grpc/index.js';
import { CriError } from './errors.js';
import type * as cri from './gen/cri.js';
import { ImageService, RuntimeService } from './gen/cri.js';

export type { CallOptions };

export type UnaryCall<Request, Response> = (
  request: Init<Request>,
  options?: CallOptions,
) => Promise<Response>;

/** The stream ends when the runtime ends it or the consumer stops. It throws Canceled when the signal aborts. */
export type StreamCall<Request, Response> = (
  request: Init<Request>,
  options?: CallOptions,
) => AsyncIterable<Response>;

/** Any unary call, for code that handles all methods and treats their messages as objects. */
export type AnyUnaryCall = (request: object, options?: CallOptions) => Promise<object>;
/** Any streaming call, for the same code. */
export type AnyStreamCall = (request: object, options?: CallOptions) => AsyncIterable<object>;

/**
 * A container runtime. Calls reject only with `CriError`. A request may omit any field. A response is a complete message,
 * such as `SomeResponse.create({…})` makes.
 */
export interface CriRuntime {
  // the runtime itself
  version: UnaryCall<cri.VersionRequest, cri.VersionResponse>;
  status: UnaryCall<cri.StatusRequest, cri.StatusResponse>;
  runtimeConfig: UnaryCall<cri.RuntimeConfigRequest, cri.RuntimeConfigResponse>;
  updateRuntimeConfig: UnaryCall<cri.UpdateRuntimeConfigRequest, cri.UpdateRuntimeConfigResponse>;

  // pod sandboxes
  runPodSandbox: UnaryCall<cri.RunPodSandboxRequest, cri.RunPodSandboxResponse>;
  stopPodSandbox: UnaryCall<cri.StopPodSandboxRequest, cri.StopPodSandboxResponse>;
  removePodSandbox: UnaryCall<cri.RemovePodSandboxRequest, cri.RemovePodSandboxResponse>;
  podSandboxStatus: UnaryCall<cri.PodSandboxStatusRequest, cri.PodSandboxStatusResponse>;
  listPodSandbox: UnaryCall<cri.ListPodSandboxRequest, cri.ListPodSandboxResponse>;
  streamPodSandboxes: StreamCall<cri.StreamPodSandboxesRequest, cri.StreamPodSandboxesResponse>;
  updatePodSandboxResources: UnaryCall<
    cri.UpdatePodSandboxResourcesRequest,
    cri.UpdatePodSandboxResourcesResponse
  >;

  // containers
  createContainer: UnaryCall<cri.CreateContainerRequest, cri.CreateContainerResponse>;
  startContainer: UnaryCall<cri.StartContainerRequest, cri.StartContainerResponse>;
  stopContainer: UnaryCall<cri.StopContainerRequest, cri.StopContainerResponse>;
  removeContainer: UnaryCall<cri.RemoveContainerRequest, cri.RemoveContainerResponse>;
  listContainers: UnaryCall<cri.ListContainersRequest, cri.ListContainersResponse>;
  streamContainers: StreamCall<cri.StreamContainersRequest, cri.StreamContainersResponse>;
  containerStatus: UnaryCall<cri.ContainerStatusRequest, cri.ContainerStatusResponse>;
  updateContainerResources: UnaryCall<
    cri.UpdateContainerResourcesRequest,
    cri.UpdateContainerResourcesResponse
  >;
  reopenContainerLog: UnaryCall<cri.ReopenContainerLogRequest, cri.ReopenContainerLogResponse>;
  checkpointContainer: UnaryCall<cri.CheckpointContainerRequest, cri.CheckpointContainerResponse>;
  checkpointPod: UnaryCall<cri.CheckpointPodRequest, cri.CheckpointPodResponse>;
  restorePod: UnaryCall<cri.RestorePodRequest, cri.RestorePodResponse>;
  getContainerEvents: StreamCall<cri.GetEventsRequest, cri.ContainerEventResponse>;

  // commands and streams
  execSync: UnaryCall<cri.ExecSyncRequest, cri.ExecSyncResponse>;
  exec: UnaryCall<cri.ExecRequest, cri.ExecResponse>;
  attach: UnaryCall<cri.AttachRequest, cri.AttachResponse>;
  portForward: UnaryCall<cri.PortForwardRequest, cri.PortForwardResponse>;

  // statistics
  containerStats: UnaryCall<cri.ContainerStatsRequest, cri.ContainerStatsResponse>;
  listContainerStats: UnaryCall<cri.ListContainerStatsRequest, cri.ListContainerStatsResponse>;
  streamContainerStats: StreamCall<cri.StreamContainerStatsRequest, cri.StreamContainerStatsResponse>;
  podSandboxStats: UnaryCall<cri.PodSandboxStatsRequest, cri.PodSandboxStatsResponse>;
  listPodSandboxStats: UnaryCall<cri.ListPodSandboxStatsRequest, cri.ListPodSandboxStatsResponse>;
  streamPodSandboxStats: StreamCall<cri.StreamPodSandboxStatsRequest, cri.StreamPodSandboxStatsResponse>;
  listMetricDescriptors: UnaryCall<cri.ListMetricDescriptorsRequest, cri.ListMetricDescriptorsResponse>;
  listPodSandboxMetrics: UnaryCall<cri.ListPodSandboxMetricsRequest, cri.ListPodSandboxMetricsResponse>;
  streamPodSandboxMetrics: StreamCall<
    cri.StreamPodSandboxMetricsRequest,
    cri.StreamPodSandboxMetricsResponse
  >;

  // images
  listImages: UnaryCall<cri.ListImagesRequest, cri.ListImagesResponse>;
  streamImages: StreamCall<cri.StreamImagesRequest, cri.StreamImagesResponse>;
  imageStatus: UnaryCall<cri.ImageStatusRequest, cri.ImageStatusResponse>;
  pullImage: UnaryCall<cri.PullImageRequest, cri.PullImageResponse>;
  removeImage: UnaryCall<cri.RemoveImageRequest, cri.RemoveImageResponse>;
  imageFsInfo: UnaryCall<cri.ImageFsInfoRequest, cri.ImageFsInfoResponse>;
}

/** Every method of both services, by its name in `CriRuntime`. */
export const criMethods = { ...RuntimeService, ...ImageService };
export type CriMethodName = keyof typeof criMethods;

export function isCriMethodName(name: string): name is CriMethodName {
  return Object.hasOwn(criMethods, name);
}

/** A runtime that fails every call with Unimplemented; partial runtimes build on it. */
export function unimplementedCriRuntime(): CriRuntime {
  const methods = Object.entries(criMethods).map(([name, { path, serverStreaming }]) => {
    const error = () =>
      new CriError('Unimplemented', `unknown method ${path.slice(path.lastIndexOf('/') + 1)}`);
    return [name, serverStreaming ? () => failingStream(error()) : () => Promise.reject(error())];
  });
  // Built from the method table, whose keys are the methods of CriRuntime.
  return Object.fromEntries(methods) as CriRuntime;
}

function failingStream(error: CriError): AsyncIterable<never> {
  return { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(error) }) };
}
