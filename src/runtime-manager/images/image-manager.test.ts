import { describe, expect, it } from 'vitest';
import { settle, sleep, VirtualClock } from '../../async/index.js';
import {
  CriError,
  type CriRuntime,
  ImageStatusResponse,
  PullImageResponse,
  unimplementedCriRuntime,
} from '../../cri/index.js';
import type { Pod } from '../../kube/index.js';
import { Timeline } from '../../timeline/index.js';
import type { PullCredentials, SyncFailure } from '../contracts.js';
import { ImageManager, type ImageManagerOptions } from './image-manager.js';
import { PullQueue } from './pull-queue.js';

interface Scene {
  readonly present?: boolean;
  readonly pullError?: () => Error | undefined;
  readonly inspectError?: Error;
  readonly pullMs?: number;
  readonly options?: Partial<ImageManagerOptions>;
}

function scene({ present = false, pullError, inspectError, pullMs = 0, options = {} }: Scene = {}) {
  const clock = new VirtualClock();
  const timeline = new Timeline({ clock });
  const calls: string[] = [];
  const users: string[] = [];
  const local = new Set(present ? ['app:v1'] : []);
  const cri: CriRuntime = {
    ...unimplementedCriRuntime(),
    async imageStatus({ image }) {
      calls.push(`status ${image?.image}`);
      if (inspectError !== undefined) throw inspectError;
      const id = image?.image ?? '';
      return ImageStatusResponse.create(local.has(id) ? { image: { id: 'sha256:1', size: 42 } } : {});
    },
    async pullImage({ image, auth }, { signal } = {}) {
      calls.push(`pull ${image?.image}`);
      if (auth !== undefined) users.push(auth.username ?? '');
      if (pullMs > 0) await sleep(clock, pullMs, signal);
      const error = pullError?.();
      if (error !== undefined) throw error;
      local.add(image?.image ?? '');
      return PullImageResponse.create({ imageRef: 'sha256:1' });
    },
  };
  const manager = new ImageManager({
    cri,
    clock,
    timeline,
    queue: new PullQueue({ maxParallelPulls: 1 }),
    ...options,
  });
  const ensure = (
    image: string,
    policy: string,
    uid = 'u1',
    signal?: AbortSignal,
  ): Promise<{ ref: string }> => {
    const pod: Pod = {
      metadata: { name: 'p', namespace: 'n', uid },
      spec: { containers: [{ name: 'c', image, imagePullPolicy: policy }] },
    };
    return manager.ensure({
      pod,
      container: pod.spec.containers[0]!,
      sandboxConfig: {},
      fieldPath: 'spec.containers{c}',
      runtimeHandler: 'kata',
      ...(signal === undefined ? {} : { signal }),
    });
  };
  const events = (uid = 'u1'): string[] =>
    timeline
      .ofPod(uid)
      .flatMap(({ event, message }) => (event === undefined ? [] : [`${event.reason}: ${message}`]));
  return { clock, ensure, calls, users, events };
}

async function failure(promise: Promise<unknown>): Promise<SyncFailure> {
  return await promise.then(
    () => {
      throw new Error('expected a failure');
    },
    (error: SyncFailure) => error,
  );
}

describe('ImageManager', () => {
  it('IfNotPresent, absent: checks, pulls, asks for the size', async () => {
    const { clock, ensure, calls, events } = scene({ pullMs: 1234.6 });
    const ensured = ensure('app:v1', 'IfNotPresent');
    await clock.advance(2000);
    expect(await ensured).toEqual({ ref: 'sha256:1' });
    expect(calls).toEqual(['status app:v1', 'pull app:v1', 'status app:v1']);
    expect(events()).toEqual([
      'Pulling: Pulling image "app:v1"',
      'Pulled: Successfully pulled image "app:v1" in 1.234s (1.234s including waiting). Image size: 42 bytes.',
    ]);
  });
  it('Always, present: pulls without a check', async () => {
    const { ensure, calls } = scene({ present: true });
    await ensure('app:v1', 'Always');
    expect(calls).toEqual(['pull app:v1', 'status app:v1']);
  });
  it('IfNotPresent, present: uses it', async () => {
    const { ensure, calls, events } = scene({ present: true });
    expect(await ensure('app:v1', 'IfNotPresent')).toEqual({ ref: 'sha256:1', user: { username: '' } });
    expect(calls).toEqual(['status app:v1']);
    expect(events()).toEqual([
      'Pulled: Container image "app:v1" already present on machine and can be accessed by the pod',
    ]);
  });
  it('Never, absent: fails without a pull', async () => {
    const { ensure, calls, events } = scene();
    const { reason, message } = await failure(ensure('app:v1', 'Never'));
    expect([reason, message]).toEqual([
      'ErrImageNeverPull',
      'Container image "app:v1" is not present with pull policy of Never',
    ]);
    expect(calls).toEqual(['status app:v1']);
    expect(events()).toEqual([`ErrImageNeverPull: ${message}`]);
  });
  it('Never, present without access: as if absent', async () => {
    const { ensure } = scene({ present: true, options: { access: { mayUse: async () => false } } });
    expect((await failure(ensure('app:v1', 'Never'))).reason).toBe('ErrImageNeverPull');
  });
  it('IfNotPresent, present without access: pulls', async () => {
    const { ensure, calls } = scene({ present: true, options: { access: { mayUse: async () => false } } });
    await ensure('app:v1', 'IfNotPresent');
    expect(calls).toContain('pull app:v1');
  });
  it.each(['FAILED_IMAGE', 'http://url', 'b'.repeat(64)])('%s is no image name', async (image) => {
    const { ensure, calls, events } = scene();
    const { reason, message } = await failure(ensure(image, 'Always'));
    expect(reason).toBe('InvalidImageName');
    expect(message).toContain(
      `Failed to apply default image tag "${image}": couldn't parse image name "${image}": `,
    );
    expect(events()).toEqual([`InspectFailed: ${message}`]);
    expect(calls).toEqual([]);
  });
  it('a failed check names no image', async () => {
    const { ensure, events } = scene({ inspectError: new CriError('Unavailable', 'down') });
    expect((await failure(ensure('app:v1', 'IfNotPresent'))).reason).toBe('ImageInspectError');
    expect(events()).toEqual([
      'InspectFailed: Failed to inspect image "": rpc error: code = Unavailable desc = down',
    ]);
  });
  it('backs off from a failed pull and keeps its error', async () => {
    const { clock, ensure, calls, events } = scene({ pullError: () => new Error('not found') });
    expect(await failure(ensure('app', 'Always'))).toMatchObject({
      reason: 'ErrImagePull',
      message: 'not found',
    });
    expect(await failure(ensure('app', 'Always'))).toMatchObject({
      reason: 'ImagePullBackOff',
      message: 'Back-off pulling image "app": ErrImagePull: not found',
    });
    expect(events()).toEqual([
      'Pulling: Pulling image "app"',
      'Failed: Failed to pull image "app": not found',
      'BackOff: Back-off pulling image "app"',
    ]);
    expect(calls).toEqual(['pull app:latest']);
    await clock.advance(10_000);
    expect((await failure(ensure('app', 'Always'))).reason).toBe('ErrImagePull');
    await clock.advance(19_999);
    expect((await failure(ensure('app', 'Always'))).reason).toBe('ImagePullBackOff');
    expect((await failure(ensure('app', 'Always', 'u2'))).reason).toBe('ErrImagePull');
  });
  it('a success does not change the back-off', async () => {
    let broken = true;
    const { clock, ensure } = scene({ pullError: () => (broken ? new Error('no') : undefined) });
    await failure(ensure('app', 'Always'));
    await clock.advance(10_000);
    broken = false;
    await ensure('app', 'Always');
    broken = true;
    await failure(ensure('app', 'Always'));
    await clock.advance(10_001);
    expect((await failure(ensure('app', 'Always'))).reason).toBe('ImagePullBackOff');
  });
  it('tries credentials in order until one works', async () => {
    let tries = 0;
    const { ensure, users } = scene({
      pullError: () => (++tries === 1 ? new Error('denied') : undefined),
      options: {
        keyring: {
          lookup: async () => [
            { username: 'a', password: '1' },
            { username: 'b', password: '2' },
          ],
        },
      },
    });
    await ensure('app:v1', 'Always');
    expect(users).toEqual(['a', 'b']);
  });
  it('64: records a pull with the credentials that worked, and a failed one without', async () => {
    const told: unknown[] = [];
    const recorder = {
      pulling: async (image: string) => void told.push(['pulling', image]),
      pulled: async (image: string, ref: string, used: PullCredentials | undefined) =>
        void told.push(['pulled', image, ref, used?.username]),
      failed: async (image: string) => void told.push(['failed', image]),
    };
    let tries = 0;
    const { ensure } = scene({
      pullError: () => (++tries === 2 ? undefined : new Error('denied')),
      options: {
        recorder,
        keyring: {
          lookup: async () => [
            { username: 'a', password: '1' },
            { username: 'b', password: '2' },
          ],
        },
      },
    });
    await ensure('app:v1', 'Always');
    await failure(ensure('other:v1', 'Always'));
    expect(told).toEqual([
      ['pulling', 'app:v1'],
      ['pulled', 'app:v1', 'sha256:1', 'b'],
      ['pulling', 'other:v1'],
      ['failed', 'other:v1'],
    ]);
  });
  it('does not pull when the intent cannot be recorded', async () => {
    const recorder = {
      pulling: () => Promise.reject(new Error('disk full')),
      pulled: async () => {},
      failed: async () => {},
    };
    const { ensure, calls } = scene({ options: { recorder } });
    const { reason, message } = await failure(ensure('app:v1', 'Always'));
    expect([reason, message]).toEqual([
      'ErrImagePull',
      'Failed to record image pull intent for container image "app:v1": disk full',
    ]);
    expect(calls).toEqual([]);
  });
  const keyring = {
    lookup: async () => [
      { username: 'a', password: '1' },
      { username: 'b', password: '2' },
    ],
  };
  it('a runtime that is away is told as such, however many credentials were tried', async () => {
    const { ensure } = scene({ pullError: () => new CriError('Unavailable', 'EOF'), options: { keyring } });
    const { reason, message, retry } = await failure(ensure('app:v1', 'Always'));
    expect({ reason, message, retry }).toEqual({
      reason: 'ErrImagePull',
      message: 'rpc error: code = Unavailable desc = EOF',
      retry: { reason: 'runtimeUnavailable' },
    });
  });
  it('names the errors of all credentials', async () => {
    let tries = 0;
    const { ensure } = scene({ pullError: () => new Error(`denied ${++tries}`), options: { keyring } });
    expect((await failure(ensure('app:v1', 'Always'))).message).toBe('[denied 1, denied 2]');
  });
  it('pods that want the same image at once share one pull, each with its own events', async () => {
    const { clock, ensure, calls, events } = scene({ pullMs: 100 });
    const both = [ensure('app:v1', 'Always', 'u1'), ensure('app:v1', 'Always', 'u2')];
    await clock.advance(200);
    await Promise.all(both);
    expect(calls.filter((call) => call.startsWith('pull'))).toHaveLength(1);
    expect([events('u1').length, events('u2').length]).toEqual([2, 2]);
  });
  it('a cancelled caller leaves without an event or a back-off', async () => {
    const { clock, ensure, events } = scene({ pullMs: 1000 });
    const stop = new AbortController();
    const ensured = ensure('app:v1', 'Always', 'u1', stop.signal);
    await settle();
    stop.abort();
    await expect(ensured).rejects.toThrow('context canceled');
    expect(events()).toEqual(['Pulling: Pulling image "app:v1"']);
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('secrets that cannot be read', () => {
  const unread = { lookup: async () => [], unreadSecrets: async () => ['a', 'c'] };
  const reason = 'FailedToRetrieveImagePullSecret';
  const warning = `${reason}: Unable to retrieve some image pull secrets (a, c); attempting to pull the image may not succeed.`;
  it.each<[rule: string, given: Scene, expected: string[]]>([
    ['an image that is there', { present: true }, []],
    ['a pull that succeeds', {}, []],
    ['a pull that fails', { pullError: () => new Error('denied') }, [warning]],
    ['a registry that is away', { pullError: () => new Error('RegistryUnavailable: away') }, []],
  ])('%s', async (_rule, given, expected) => {
    const { ensure, events } = scene({ ...given, options: { keyring: unread } });
    // The second try is in back-off, or finds the image.
    for (let tries = 0; tries < 2; tries++) {
      await ensure('app:v1', 'IfNotPresent').catch(() => undefined);
      expect(events().filter((text) => text.startsWith(reason))).toEqual(expected);
    }
  });
});
