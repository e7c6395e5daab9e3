import { expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import { SimRuntime } from './index.js';

async function running(annotations: Record<string, string>) {
  const clock = new VirtualClock();
  const runtime = new SimRuntime({ clock, logBytes: 1000 });
  const metadata = { name: 'pod', namespace: 'ns', uid: 'uid' };
  const { podSandboxId } = await runtime.runPodSandbox({
    config: {
      metadata,
      annotations: Object.fromEntries(
        Object.entries(annotations).map(([key, value]) => [`sim.nodelet.dev/${key}`, value]),
      ),
    },
  });
  const { imageRef } = await runtime.pullImage({ image: { image: 'app:1' } });
  const { containerId } = await runtime.createContainer({
    podSandboxId,
    config: { metadata: { name: 'app', attempt: 0 }, image: { image: imageRef } },
  });
  await runtime.startContainer({ containerId });
  const pod = async () => (await runtime.podSandboxStats({ podSandboxId })).stats?.linux;
  const container = async () => (await runtime.containerStats({ containerId })).stats;
  return { clock, runtime, containerId, pod, container };
}

/** Moments of a simulated runtime differ by nanoseconds, so that none is there twice. */
async function cpuSeconds(
  read: () => Promise<
    { cpu?: { usageCoreNanoSeconds?: { value: number } | undefined } | undefined } | undefined
  >,
): Promise<number> {
  return ((await read())?.cpu?.usageCoreNanoSeconds?.value ?? Number.NaN) / 1e9;
}

it('a container uses what its annotations say, and the pod what its containers use', async () => {
  const { clock, runtime, pod, container } = await running({
    'usage-cpu': '500m:10s+2',
    'usage-memory': '64Mi',
  });
  await clock.advance(5_000);
  expect((await container())?.cpu?.usageNanoCores?.value).toBe(500_000_000);
  expect(await cpuSeconds(container)).toBeCloseTo(2.5);
  await clock.advance(10_000);
  expect((await pod())?.cpu?.usageNanoCores?.value).toBe(2_000_000_000);
  expect(await cpuSeconds(pod)).toBeCloseTo(15);
  expect((await pod())?.memory?.workingSetBytes?.value).toBe(64 * 1024 ** 2);
  expect(runtime.usage()).toMatchObject({ cpus: 2, memoryBytes: 64 * 1024 ** 2 });
  await runtime.close();
});

it('one that has ended uses nothing, and its CPU time stays counted', async () => {
  const { clock, runtime, pod } = await running({ 'usage-cpu': '1', 'run-time': '3s' });
  await clock.advance(60_000);
  expect((await pod())?.cpu?.usageNanoCores?.value).toBe(0);
  expect(await cpuSeconds(pod)).toBeCloseTo(3);
  expect((await pod())?.memory?.workingSetBytes?.value).toBe(0);
  await runtime.close();
});

it('probes find a running container, and nobody else', async () => {
  const { clock, runtime, containerId } = await running({ probes: '80=fail:5s+ok', 'run-time': '20s' });
  const probe = () => runtime.probe(containerId, { port: 80, path: '/' });
  expect(probe()).toEqual({ kind: 'status', status: 503 });
  await clock.advance(6_000);
  expect(probe()).toEqual({ kind: 'status', status: 200 });
  await clock.advance(20_000);
  expect(probe()).toEqual({ kind: 'refused' });
  expect(runtime.probe('nobody', { port: 80, path: '/' })).toBeUndefined();
  await runtime.close();
});

it.each([
  ['usage-cpu', 'much'],
  ['usage-cpu', '-1'],
  ['usage-memory', '64Mi:soon'],
  ['probes', 'perhaps'],
])('%s: %s is refused by its name', async (setting, value) => {
  await expect(running({ [setting]: value })).rejects.toThrow(`sim.nodelet.dev/${setting}`);
});
