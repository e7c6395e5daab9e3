/** Serves the list calls from their `Stream*` forms, whose chunks stay below the message size limit. */
import { isUnimplemented } from './errors.js';
import {
  ListContainerStatsResponse,
  ListContainersResponse,
  ListImagesResponse,
  ListPodSandboxMetricsResponse,
  ListPodSandboxResponse,
  ListPodSandboxStatsResponse,
} from './gen/cri.js';
import type { CriRuntime, StreamCall, UnaryCall } from './runtime.js';

export type StreamedLists = Pick<
  CriRuntime,
  | 'listPodSandbox'
  | 'listContainers'
  | 'listContainerStats'
  | 'listPodSandboxStats'
  | 'listPodSandboxMetrics'
  | 'listImages'
>;

/** After the first Unimplemented, a service uses its plain list calls forever. */
export function streamedLists(runtime: CriRuntime): StreamedLists {
  const ofRuntime = { streaming: true };
  const ofImages = { streaming: true };
  return {
    listPodSandbox: streamedList(
      ofRuntime,
      (request, options) => runtime.listPodSandbox(request, options),
      (request, options) => runtime.streamPodSandboxes(request, options),
      ({ podSandboxes }) => podSandboxes,
      (items) => ListPodSandboxResponse.create({ items }),
    ),
    listContainers: streamedList(
      ofRuntime,
      (request, options) => runtime.listContainers(request, options),
      (request, options) => runtime.streamContainers(request, options),
      ({ containers }) => containers,
      (containers) => ListContainersResponse.create({ containers }),
    ),
    listContainerStats: streamedList(
      ofRuntime,
      (request, options) => runtime.listContainerStats(request, options),
      (request, options) => runtime.streamContainerStats(request, options),
      ({ containerStats }) => containerStats,
      (stats) => ListContainerStatsResponse.create({ stats }),
    ),
    listPodSandboxStats: streamedList(
      ofRuntime,
      (request, options) => runtime.listPodSandboxStats(request, options),
      (request, options) => runtime.streamPodSandboxStats(request, options),
      ({ podSandboxStats }) => podSandboxStats,
      (stats) => ListPodSandboxStatsResponse.create({ stats }),
    ),
    listPodSandboxMetrics: streamedList(
      ofRuntime,
      (request, options) => runtime.listPodSandboxMetrics(request, options),
      (request, options) => runtime.streamPodSandboxMetrics(request, options),
      ({ podSandboxMetrics }) => podSandboxMetrics,
      (podMetrics) => ListPodSandboxMetricsResponse.create({ podMetrics }),
    ),
    listImages: streamedList(
      ofImages,
      (request, options) => runtime.listImages(request, options),
      (request, options) => runtime.streamImages(request, options),
      ({ images }) => images,
      (images) => ListImagesResponse.create({ images }),
    ),
  };
}

function streamedList<Request, Response, Chunk, Item>(
  service: { streaming: boolean },
  list: UnaryCall<Request, Response>,
  stream: StreamCall<Request, Chunk>,
  itemsOf: (chunk: Chunk) => readonly Item[],
  responseOf: (items: Item[]) => Response,
): UnaryCall<Request, Response> {
  return async (request, options) => {
    if (!service.streaming) return list(request, options);
    try {
      const items: Item[] = [];
      for await (const chunk of stream(request, options)) items.push(...itemsOf(chunk));
      return responseOf(items);
    } catch (error) {
      if (!isUnimplemented(error)) throw error;
      service.streaming = false;
      return list(request, options);
    }
  };
}
