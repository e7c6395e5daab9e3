import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../async/index.js';
import { CriError } from './errors.js';
import { ListContainersResponse, ListImagesResponse, StreamContainersResponse } from './gen/cri.js';
import { type CriRuntime, unimplementedCriRuntime } from './runtime.js';
import { withCallRules } from './with-call-rules.js';

describe('streamed lists', () => {
  const streaming = (runtime: CriRuntime): CriRuntime =>
    withCallRules(runtime, { requestTimeoutMs: 120_000, clock: new VirtualClock(), listStreaming: true });

  it('concatenates the chunks of a stream', async () => {
    async function* chunks() {
      yield StreamContainersResponse.create({ containers: [{ id: 'a' }, { id: 'b' }] });
      yield StreamContainersResponse.create({ containers: [{ id: 'c' }] });
    }
    const runtime = streaming({ ...unimplementedCriRuntime(), streamContainers: chunks });
    const { containers } = await runtime.listContainers({});
    expect(containers.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
  });

  it('uses plain lists forever after the first Unimplemented, separately for each service', async () => {
    let streamed = 0;
    const base = unimplementedCriRuntime();
    const runtime = streaming({
      ...base,
      streamContainers: (request) => {
        streamed++;
        return base.streamContainers(request);
      },
      listContainers: async () => ListContainersResponse.create({ containers: [{ id: 'plain' }] }),
      async *streamImages() {
        yield ListImagesResponse.create({ images: [{ id: 'streamed' }] });
      },
    });
    await runtime.listContainers({});
    const { containers } = await runtime.listContainers({});
    expect(containers[0]?.id).toBe('plain');
    expect(streamed).toBe(1);
    expect((await runtime.listImages({})).images[0]?.id).toBe('streamed');
  });

  it('passes other errors on', async () => {
    const runtime = streaming({
      ...unimplementedCriRuntime(),
      streamImages: () => {
        throw new CriError('Unavailable', 'away');
      },
    });
    await expect(runtime.listImages({})).rejects.toThrow('away');
  });
});
