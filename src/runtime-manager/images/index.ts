/** Images: pulling them when a container needs them, and removing unused ones. */

export {
  createImageMetrics,
  createPluginMetrics,
  createPullRecordMetrics,
  type ImageMetrics,
  type PluginMetrics,
  type PullRecordMetrics,
} from '../metrics.js';
export * from './credentials/index.js';
export { ImageCollector, type ImageCollectorOptions, readUsage } from './image-collector.js';
export type { ImageForecast, ImageForecastItem } from './image-forecast.js';
export type { ImageGcPolicy } from './image-gc.js';
export { ImageList, type ImageListOptions } from './image-list.js';
export {
  type ImageAccess,
  ImageManager,
  type ImageManagerOptions,
  type PullRecorder,
} from './image-manager.js';
export { mountedImages } from './mounted-images.js';
export type { PullProgress } from './pull-progress.js';
export { PullQueue, type PullQueueOptions, PullRate } from './pull-queue.js';
export { type PullSource, PullWatch } from './pull-watch.js';
export { type ImageReference, normalRepository, parseImageReference, withDefaultTag } from './reference.js';
export * from './verification/index.js';
