import { describe, expect, it } from 'vitest';
import { settle, VirtualClock } from '../../async/index.js';
import {
  type ContainerEventResponse,
  ContainerState,
  CriError,
  criLabels,
  type Init,
  type PodSandboxConfig,
  PodSandboxState,
} from '../../cri/index.js';
import { SimRuntime, type SimRuntimeOptions } from './index.js';

const image = 'example.test/app:1';

function start(options: SimRuntimeOptions = {}) {
  const clock = new VirtualClock();
  const runtime = new SimRuntime({ clock, images: [{ name: image, present: true }], ...options });
  let pods = 0;
  const sandbox = async (annotations: Record<string, string> = {}, uid = `uid-${pods++}`) => {
    const config: Init<PodSandboxConfig> = {
      metadata: { name: `pod-${uid}`, namespace: 'ns', uid },
      labels: { [criLabels.podUid]: uid },
      annotations: Object.fromEntries(
        Object.entries(annotations).map(([key, value]) => [`sim.nodelet.dev/${key}`, value]),
      ),
    };
    const { podSandboxId } = await runtime.runPodSandbox({ config });
    return podSandboxId;
  };
  const create = async (podSandboxId: string, name = 'app', uid = 'uid-0', attempt = 0) => {
    const { containerId } = await runtime.createContainer({
      podSandboxId,
      config: { metadata: { name, attempt }, image: { image }, labels: { [criLabels.podUid]: uid } },
    });
    return containerId;
  };
  const run = async (annotations: Record<string, string> = {}) => {
    const sandboxId = await sandbox(annotations);
    const containerId = await create(sandboxId);
    await runtime.startContainer({ containerId });
    return { sandboxId, containerId };
  };
  const status = async (containerId: string) => (await runtime.containerStatus({ containerId })).status!;
  return { clock, runtime, sandbox, create, run, status };
}

describe('SimRuntime', () => {
  it('has no timer for a container without a script', async () => {
    const { clock, run } = start();
    await run();
    expect(clock.pendingTimers).toBe(0);
  });
  it('runs a scripted container to its end', async () => {
    const { clock, run, status } = start();
    const { containerId } = await run({ 'app.run-time': '5s', 'app.exit-code': '3' });
    await clock.advance(4999);
    expect((await status(containerId)).state).toBe(ContainerState.CONTAINER_RUNNING);
    await clock.advance(1);
    const exited = await status(containerId);
    expect(exited).toMatchObject({ state: ContainerState.CONTAINER_EXITED, exitCode: 3, reason: 'Error' });
    expect(exited.finishedAt - exited.startedAt).toBeGreaterThanOrEqual(4_999_000_000n);
  });
  it('never repeats a timestamp', async () => {
    const { sandbox, create, status } = start();
    const id = await sandbox();
    const stamps: bigint[] = [];
    for (let i = 0; i < 5; i++) stamps.push((await status(await create(id, `c${i}`))).createdAt);
    expect(new Set(stamps).size).toBe(5);
    expect([...stamps].sort((a, b) => (a < b ? -1 : 1))).toEqual(stamps);
  });
  it('gives pods different addresses and reuses them only when the range is used up', async () => {
    const { runtime, sandbox } = start({ podCidr: '10.1.2.0/29' });
    const ids = await Promise.all([1, 2, 3, 4, 5].map(() => sandbox()));
    const ip = async (id: string) =>
      (await runtime.podSandboxStatus({ podSandboxId: id })).status?.network?.ip;
    expect(await Promise.all(ids.map(ip))).toEqual([
      '10.1.2.2',
      '10.1.2.3',
      '10.1.2.4',
      '10.1.2.5',
      '10.1.2.6',
    ]);
    await expect(sandbox()).rejects.toThrow('no IP addresses available');
    await runtime.stopPodSandbox({ podSandboxId: ids[1]! });
    expect(await ip(await sandbox({}, 'late'))).toBe('10.1.2.3');
  });
  it('cannot create a sandbox without its network, and reserves no name for it', async () => {
    const { runtime, sandbox } = start();
    runtime.setCondition('NetworkReady', false, 'NetworkPluginNotReady', 'cni plugin not initialized');
    await expect(sandbox({}, 'u')).rejects.toThrow(/failed to setup network for sandbox/);
    expect((await runtime.status({})).status?.conditions[1]).toMatchObject({ status: false });
    runtime.setCondition('NetworkReady', true);
    await sandbox({}, 'u');
  });
  it('rejects invalid annotations', async () => {
    const { sandbox } = start();
    await expect(sandbox({ 'app.run-time': 'soon' })).rejects.toMatchObject({ codeName: 'InvalidArgument' });
  });

  describe('stopping', () => {
    const cases: [string, Record<string, string>, number, number, exitCode: number, tookMs: number][] = [
      ['SIGTERM ends it at once', {}, 30, 0, 143, 0],
      ['a slow one ends within its grace', { 'app.stop-delay': '5s' }, 30, 5000, 143, 5000],
      ['a graceful one chooses its code', { 'app.stop-exit-code': '0' }, 30, 0, 0, 0],
      ['a stubborn one is killed', { 'app.ignores-term': 'true' }, 10, 10_000, 137, 10_000],
      ['one that is too slow is killed', { 'app.stop-delay': '5s' }, 2, 2000, 137, 2000],
      ['without grace it is killed', {}, 0, 0, 137, 0],
    ];
    it.each(cases)('%s', async (_, annotations, timeout, advanceMs, exitCode, tookMs) => {
      const { clock, runtime, run, status } = start();
      const { containerId } = await run(annotations);
      const startMs = clock.monotonic();
      let endMs = -1;
      const stopping = runtime.stopContainer({ containerId, timeout }).then(() => {
        endMs = clock.monotonic();
      });
      await clock.advance(advanceMs);
      await stopping;
      expect(endMs - startMs).toBe(tookMs);
      expect(await status(containerId)).toMatchObject({ exitCode });
      expect(clock.pendingTimers).toBe(0);
    });
  });

  it('starts slowly, or fails to start', async () => {
    const { clock, runtime, sandbox, create, status } = start();
    const slow = await create(await sandbox({ 'app.start-delay': '2s' }));
    const starting = runtime.startContainer({ containerId: slow });
    await settle();
    expect((await status(slow)).state).toBe(ContainerState.CONTAINER_CREATED);
    await expect(runtime.removeContainer({ containerId: slow })).rejects.toThrow(/can't be removed/);
    await clock.advance(2000);
    await starting;
    const broken = await create(await sandbox({ 'app.start-error': 'exec format error' }), 'app', 'uid-1');
    await expect(runtime.startContainer({ containerId: broken })).rejects.toThrow(/exec format error/);
    expect(await status(broken)).toMatchObject({ exitCode: 128, reason: 'StartError' });
  });

  it('serves ExecSync by function, by annotation, or by simulating the command', async () => {
    const { runtime, run } = start({
      exec: ({ command }) => (command[0] === 'ask' ? { exitCode: 9, stdout: 'asked' } : undefined),
    });
    const { containerId } = await run({});
    expect(await runtime.execSync({ containerId, cmd: ['ask'] })).toMatchObject({ exitCode: 9 });
    expect(await runtime.execSync({ containerId, cmd: ['cat', '/healthy'] })).toMatchObject({ exitCode: 0 });
    const scripted = await run({ 'app.exec-exit-code': '1', 'app.exec-output': 'sick' });
    const answer = await runtime.execSync({ containerId: scripted.containerId, cmd: ['true'] });
    expect([answer.exitCode, String(answer.stdout)]).toEqual([1, 'sick']);
  });
  it('ends an ExecSync when its container dies', async () => {
    const { runtime, run } = start();
    const { containerId } = await run();
    const exec = runtime.execSync({ containerId, cmd: ['sleep', '100'] });
    await settle();
    runtime.exitContainer(containerId, 1, 'OOMKilled');
    expect((await exec).exitCode).toBe(137);
  });

  describe('images', () => {
    it('are pulled if known, in their pull time', async () => {
      const { clock, runtime } = start({ images: [{ name: 'a', pullMs: 3000, sizeBytes: 5 }] });
      expect((await runtime.imageStatus({ image: { image: 'a' } })).image).toBeUndefined();
      const pulling = runtime.pullImage({ image: { image: 'a' } });
      await clock.advance(3000);
      const { imageRef } = await pulling;
      const { image } = await runtime.imageStatus({ image: { image: 'a:latest' } });
      expect(image).toMatchObject({ id: imageRef, repoTags: ['a:latest'], size: 5 });
      await expect(runtime.pullImage({ image: { image: 'b' } })).rejects.toMatchObject({
        codeName: 'NotFound',
      });
      expect((await runtime.imageFsInfo({})).imageFilesystems[0]?.usedBytes?.value).toBe(5);
      await runtime.removeImage({ image: { image: imageRef } });
      expect((await runtime.listImages({})).images).toEqual([]);
    });
    it('all exist for a runtime with `any`', async () => {
      const { runtime } = start({ images: 'any' });
      await runtime.pullImage({ image: { image: 'whatever/it:1' } });
      expect((await runtime.listImages({})).images).toHaveLength(1);
    });
  });

  describe('faults', () => {
    const error = new CriError('Unknown', 'planned');
    it('a planned error has no effect', async () => {
      const { runtime, sandbox } = start();
      runtime.faults.add({ rpc: 'runPodSandbox', error });
      await expect(sandbox()).rejects.toBe(error);
      expect(runtime.size.sandboxes).toBe(0);
      await sandbox();
      expect(runtime.calls.runPodSandbox).toBe(2);
    });
    it('a lost response has its effect', async () => {
      const { runtime, sandbox } = start();
      runtime.faults.add({ rpc: 'runPodSandbox', loseResponse: true });
      await expect(sandbox()).rejects.toMatchObject({ codeName: 'Unavailable' });
      expect(runtime.size.sandboxes).toBe(1);
    });
    it('a delayed call ends at its deadline or when cancelled', async () => {
      const { clock, runtime } = start();
      runtime.faults.add({ rpc: 'version', delayMs: 5000, times: 3 });
      const late = expect(runtime.version({}, { timeoutMs: 1000 })).rejects.toMatchObject({
        codeName: 'DeadlineExceeded',
      });
      const stop = new AbortController();
      const cancelled = expect(runtime.version({}, { signal: stop.signal })).rejects.toMatchObject({
        codeName: 'Canceled',
      });
      const patient = runtime.version({});
      stop.abort();
      await cancelled;
      await clock.advance(5000);
      await late;
      expect((await patient).runtimeName).toBe('sim');
      expect(clock.pendingTimers).toBe(0);
    });
    it('while it is away all calls fail and containers keep running', async () => {
      const { clock, runtime, run, status } = start();
      const { containerId } = await run({ 'app.run-time': '5s' });
      const stubborn = await run({ 'app.ignores-term': 'true' });
      const stopping = expect(
        runtime.stopContainer({ containerId: stubborn.containerId, timeout: 60 }),
      ).rejects.toMatchObject({ codeName: 'Unavailable' });
      await settle();
      runtime.goAway();
      await stopping;
      await expect(runtime.version({})).rejects.toMatchObject({ codeName: 'Unavailable' });
      await clock.advance(5000);
      runtime.comeBack();
      expect((await status(containerId)).state).toBe(ContainerState.CONTAINER_EXITED);
    });
    it('a reboot leaves the metadata of what ran', async () => {
      const { clock, runtime, run, create, status } = start();
      const { sandboxId, containerId } = await run({ 'app.run-time': '50s' });
      const created = await create(sandboxId, 'created');
      runtime.reboot();
      expect(clock.pendingTimers).toBe(0);
      expect(await status(containerId)).toMatchObject({
        state: ContainerState.CONTAINER_EXITED,
        exitCode: 255,
        reason: 'Unknown',
      });
      expect((await status(created)).state).toBe(ContainerState.CONTAINER_CREATED);
      const { status: sandbox } = await runtime.podSandboxStatus({ podSandboxId: sandboxId });
      expect(sandbox).toMatchObject({ state: PodSandboxState.SANDBOX_NOTREADY, network: { ip: '' } });
    });
  });

  describe('events', () => {
    it('reach every stream, until it ends', async () => {
      const { runtime, run } = start();
      const seen: ContainerEventResponse[] = [];
      const follow = async () => {
        for await (const event of runtime.getContainerEvents({})) seen.push(event);
      };
      const following = expect(follow()).rejects.toMatchObject({ codeName: 'Unavailable' });
      await settle();
      const { sandboxId, containerId } = await run();
      await runtime.stopPodSandbox({ podSandboxId: sandboxId });
      await settle();
      expect(seen.map(({ containerId: id, containerEventType }) => [id, containerEventType])).toEqual([
        [sandboxId, 0],
        [sandboxId, 1],
        [containerId, 0],
        [containerId, 1],
        [containerId, 2],
        [sandboxId, 2],
      ]);
      expect(seen[3]?.podSandboxStatus?.metadata?.uid).toBe('uid-0');
      runtime.breakEventStreams();
      await following;
      expect(runtime.eventReaders).toBe(0);
    });
    it('are Unimplemented in a runtime without them', async () => {
      const { runtime } = start({ containerEvents: false });
      const stream = runtime.getContainerEvents({})[Symbol.asyncIterator]();
      await expect(stream.next()).rejects.toMatchObject({ codeName: 'Unimplemented' });
    });
  });

  it('streams the same entries as it lists', async () => {
    const { runtime, run } = start();
    const { containerId } = await run();
    const streamed: string[] = [];
    for await (const { containers } of runtime.streamContainers({}))
      streamed.push(...containers.map(({ id }) => id));
    expect(streamed).toEqual([containerId]);
  });

  it('lists thousands of pods, and one among them without scanning the others', async () => {
    const { runtime, sandbox, create } = start();
    for (let n = 0; n < 2000; n++) {
      const containerId = await create(await sandbox({}, `pod-${n}`), 'app', `pod-${n}`);
      await runtime.startContainer({ containerId });
    }
    const all = await runtime.listContainers({});
    expect(all.containers).toHaveLength(2000);
    const again = await runtime.listContainers({});
    expect(again.containers[7]).toBe(all.containers[7]);
    const one = await runtime.listContainers({
      filter: { labelSelector: { [criLabels.podUid]: 'pod-1234' } },
    });
    expect(one.containers.map(({ labels }) => labels[criLabels.podUid])).toEqual(['pod-1234']);
  });
});
