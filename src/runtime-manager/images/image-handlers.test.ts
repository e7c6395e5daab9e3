/** Images of runtimes that keep those of their handlers apart (gate RuntimeClassInImageCriApi). */
import { expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import {
  ImageFsInfoResponse,
  type ImageSpec,
  ImageStatusResponse,
  type Init,
  ListContainersResponse,
  ListImagesResponse,
  ListPodSandboxResponse,
  PullImageResponse,
  RemoveImageResponse,
  StatusResponse,
  unimplementedCriRuntime,
} from '../../cri/index.js';
import { Timeline } from '../../timeline/index.js';
import { ImageCollector } from './image-collector.js';
import { ImageManager } from './image-manager.js';
import { PullQueue } from './pull-queue.js';

it.each([
  ['tells the runtime the handler of the pod', true, 'kata'],
  ['tells the runtime nothing of it by default', undefined, ''],
])('a pull %s', async (_rule, namesHandlers, handler) => {
  const clock = new VirtualClock();
  const asked: (Init<ImageSpec> | undefined)[] = [];
  const manager = new ImageManager({
    cri: {
      imageStatus: async ({ image }) => {
        asked.push(image);
        return ImageStatusResponse.create({});
      },
      pullImage: async ({ image }) => {
        asked.push(image);
        return PullImageResponse.create({ imageRef: 'sha256:1' });
      },
    },
    clock,
    timeline: new Timeline({ clock }),
    queue: new PullQueue({ maxParallelPulls: 1 }),
    ...(namesHandlers === undefined ? {} : { namesHandlers }),
  });
  const pod = { metadata: { name: 'p', namespace: 'n', uid: 'u' }, spec: { containers: [] } };
  const container = { name: 'c', image: 'app:1', imagePullPolicy: 'IfNotPresent' };
  await manager.ensure({
    pod,
    container,
    sandboxConfig: {},
    fieldPath: undefined,
    runtimeHandler: 'kata',
  });
  expect(asked.map((image) => image?.runtimeHandler)).toEqual([handler, handler, handler]);
});

it.each([
  ['removes that of the handler that nobody uses', true, ['sha256:1,runc']],
  ['keeps one that a container uses under any handler by default', undefined, []],
])('garbage collection %s', async (_rule, namesHandlers, expected) => {
  const clock = new VirtualClock();
  const removed: string[] = [];
  const collector = new ImageCollector({
    cri: {
      ...unimplementedCriRuntime(),
      status: async () => StatusResponse.create(),
      listPodSandbox: async () => ListPodSandboxResponse.create(),
      imageFsInfo: async () => ImageFsInfoResponse.create(),
      listImages: async () =>
        ListImagesResponse.create({
          images: ['kata', 'runc'].map((runtimeHandler) => ({
            id: 'sha256:1',
            size: 5,
            repoTags: ['app:1'],
            spec: { image: 'sha256:1', runtimeHandler },
          })),
        }),
      listContainers: async () =>
        ListContainersResponse.create({
          containers: [{ id: 'c', imageId: 'sha256:1', image: { image: 'app:1', runtimeHandler: 'kata' } }],
        }),
      removeImage: async ({ image }) => {
        removed.push(`${image?.image},${image?.runtimeHandler}`);
        return RemoveImageResponse.create();
      },
    },
    clock,
    timeline: new Timeline({ clock }),
    nodeName: 'n1',
    policy: { highThresholdPercent: 85, lowThresholdPercent: 80, minAgeMs: 0, maxAgeMs: 0 },
    ...(namesHandlers === undefined ? {} : { namesHandlers }),
  });
  await collector.detect();
  await clock.advance(60_000);
  await collector.deleteUnused();
  expect(removed).toEqual(expected);
});
