/** Lists in chunks: answers the list calls from their `Stream*` forms, which no message limit bounds. */
import { isUnimplemented } from './errors.js';
import {
  ListContainerStatsResponse,
  ListContainersResponse,
  ListImagesResponse,
  ListPodSandboxMetricsResponse,
  ListPodSandboxResponse,
  ListPodSandboxStatsResponse,
} from './gen/cri.js';
import type { CriRuntime } from './runtime.js';

/** The first Unimplemented turns a service back to its plain list calls for good. */
export function withListStreaming(runtime: CriRuntime): CriRuntime {
  const runtimeService = { streaming: true };
  const imageService = { streaming: true };
  return {
    ...runtime,
    listPodSandbox: (request, options) =>
      streamed(
        runtimeService,
        async () => {
          const items = await collect(
            runtime.streamPodSandboxes(request, options),
            (chunk) => chunk.podSandboxes,
          );
          return ListPodSandboxResponse.create({ items });
        },
        () => runtime.listPodSandbox(request, options),
      ),
    listContainers: (request, options) =>
      streamed(
        runtimeService,
        async () => {
          const containers = await collect(
            runtime.streamContainers(request, options),
            (chunk) => chunk.containers,
          );
          return ListContainersResponse.create({ containers });
        },
        () => runtime.listContainers(request, options),
      ),
    listContainerStats: (request, options) =>
      streamed(
        runtimeService,
        async () => {
          const stats = await collect(
            runtime.streamContainerStats(request, options),
            (chunk) => chunk.containerStats,
          );
          return ListContainerStatsResponse.create({ stats });
        },
        () => runtime.listContainerStats(request, options),
      ),
    listPodSandboxStats: (request, options) =>
      streamed(
        runtimeService,
        async () => {
          const stats = await collect(
            runtime.streamPodSandboxStats(request, options),
            (chunk) => chunk.podSandboxStats,
          );
          return ListPodSandboxStatsResponse.create({ stats });
        },
        () => runtime.listPodSandboxStats(request, options),
      ),
    listPodSandboxMetrics: (request, options) =>
      streamed(
        runtimeService,
        async () => {
          const podMetrics = await collect(
            runtime.streamPodSandboxMetrics(request, options),
            (chunk) => chunk.podSandboxMetrics,
          );
          return ListPodSandboxMetricsResponse.create({ podMetrics });
        },
        () => runtime.listPodSandboxMetrics(request, options),
      ),
    listImages: (request, options) =>
      streamed(
        imageService,
        async () => {
          const images = await collect(runtime.streamImages(request, options), (chunk) => chunk.images);
          return ListImagesResponse.create({ images });
        },
        () => runtime.listImages(request, options),
      ),
  };
}

async function streamed<Response>(
  service: { streaming: boolean },
  byStream: () => Promise<Response>,
  byList: () => Promise<Response>,
): Promise<Response> {
  if (!service.streaming) return byList();
  try {
    return await byStream();
  } catch (error) {
    if (!isUnimplemented(error)) throw error;
    service.streaming = false;
    return byList();
  }
}

async function collect<Chunk, Item>(
  chunks: AsyncIterable<Chunk>,
  itemsOf: (chunk: Chunk) => readonly Item[],
): Promise<Item[]> {
  const items: Item[] = [];
  for await (const chunk of chunks) items.push(...itemsOf(chunk));
  return items;
}
