import { describe, expect, it } from 'vitest';
import { settle, TaskGroup, VirtualClock } from '../../async/index.js';
import { CriError, type FetchedBlob } from '../../cri/index.js';
import type { PullProgress } from './pull-progress.js';
import { PullWatch } from './pull-watch.js';

const manifests: Readonly<Record<string, string>> = {
  'sha256:11': JSON.stringify({ layers: [{ digest: 'sha256:aa', size: 100 }] }),
  'sha256:22': JSON.stringify({ layers: [{ digest: 'sha256:bb', size: 200 }] }),
  'sha256:33': '{"no": "manifest"}',
};

function world() {
  const clock = new VirtualClock();
  const failures: string[] = [];
  const told: PullProgress[] = [];
  const runtime = {
    fetched: [] as FetchedBlob[],
    error: undefined as CriError | undefined,
    opened: 0,
    asked: '',
  };
  const tasks = new TaskGroup({ onError: (task, error) => failures.push(`${task}: ${String(error)}`) });
  const watch = new PullWatch({
    clock,
    tasks,
    onFailure: (image, error) => failures.push(`${image}: ${error.message}`),
    open: () => {
      runtime.opened++;
      return {
        fetched: async () => {
          if (runtime.error !== undefined) throw runtime.error;
          return runtime.fetched;
        },
        blobsOf: async ({ domain, path }) => {
          runtime.asked = `${domain} ${path}`;
          return Object.entries(manifests).map(([digest, { length }], index) => ({
            digest,
            sizeBytes: length,
            createdSeconds: index,
          }));
        },
        stored: async () => [],
        read: async ({ digest }) => Buffer.from(manifests[digest] ?? ''),
        close: () => undefined,
      };
    },
  });
  const advance = async (ms: number): Promise<void> => {
    await clock.advance(ms);
    await settle();
  };
  return { watch, tasks, runtime, failures, told, advance, listen: (one: PullProgress) => told.push(one) };
}

describe('PullWatch', () => {
  it('does not look at a pull that is soon over', async () => {
    const { watch, runtime, advance, listen, tasks } = world();
    const stop = watch.watch('busybox:1', listen);
    await advance(2_900);
    stop();
    await advance(60_000);
    expect(runtime.opened).toBe(0);
    await tasks.drained();
  });
  it('finds the image among those of its repository and tells how far it is, to all who wait', async () => {
    const { watch, runtime, advance, listen, told, tasks } = world();
    const others: PullProgress[] = [];
    const stops = [watch.watch('busybox:1', listen), watch.watch('busybox:1', (one) => others.push(one))];
    await advance(3_000);
    expect(told).toEqual([]);
    runtime.fetched = [{ digest: 'sha256:bb', doneBytes: 50 }];
    await advance(2_000);
    runtime.fetched = [{ digest: 'sha256:bb', doneBytes: 150 }];
    await advance(2_000);
    expect(told.map(({ doneBytes, totalBytes }) => [doneBytes, totalBytes])).toEqual([
      [50, 200],
      [150, 200],
    ]);
    expect(others).toEqual(told);
    expect(runtime).toMatchObject({ opened: 1, asked: 'docker.io library/busybox' });
    for (const stop of stops) stop();
    await advance(10_000);
    expect(told).toHaveLength(2);
    await tasks.drained();
  });
  it('gives up on this pull when the runtime fails, and for good when it does not know the call', async () => {
    const { watch, runtime, advance, listen, failures } = world();
    runtime.error = new CriError('Unavailable', 'gone');
    watch.watch('a:1', listen)();
    watch.watch('b:1', listen);
    await advance(3_000);
    runtime.error = new CriError('Unimplemented', 'unknown service');
    watch.watch('c:1', listen);
    await advance(3_000);
    expect(failures).toEqual([expect.stringContaining('b:1: '), expect.stringContaining('c:1: ')]);
    watch.watch('d:1', listen);
    await advance(10_000);
    expect(runtime.opened).toBe(2);
  });
});
