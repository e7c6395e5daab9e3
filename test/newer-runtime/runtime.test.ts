/** What a newer runtime tells by itself: container events, lists in parts, and figures of pods. */
import { existsSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CriError, type CriRuntime } from '../../src/cri/index.js';
import { streamedLists } from '../../src/cri/list-streaming.js';
import { linuxCgroups } from '../../src/resources/cgroups/index.js';
import { eventually, manifest, TestNode } from '../containerd/agent.js';
import { newerContainerdVersion } from '../env/index.js';

let node: TestNode;

beforeAll(async () => {
  const featureGates = { CRIListStreaming: true, PodAndContainerStatsFromCRI: true };
  node = await TestNode.create({
    config: ({ cgroupParent }) => ({ featureGates, cgroupRoot: cgroupParent, cgroupsPerQOS: true }),
  });
  const version = existsSync('/sys/fs/cgroup/cgroup.controllers') ? 2 : 1;
  linuxCgroups({ version, hugePageSizes: [] }).create(node.containerd.cgroupParent);
  await node.start();
  await node.apply('one.yaml', manifest('one', { uid: 'uid-one' }));
  await node.untilReady('one');
});
afterAll(() => node?.stop());

it('is the release that these tests are about', async () => {
  expect((await node.cri.version({ version: 'v1' })).runtimeVersion).toBe(`v${newerContainerdVersion}`);
});

it("container events of the CRI are followed, not containerd's own", async () => {
  expect(node.log).toContain("following the runtime's container events");
  expect(node.log).not.toContain("following containerd's events");
  expect(await node.metric('kubelet_evented_pleg_connection_success_count')).toBe(1);
});

it('a container that dies is seen by its event long before the next look at all pods', async () => {
  const [id = ''] = await node.running('one');
  const events = 'kubelet_evented_pleg_connection_latency_seconds_count';
  const before = (await node.metric(events)) ?? 0;
  await node.killProcess(id);
  await node.until('one', 'runs again', ({ containerStatuses: [app] = [] }) => {
    return app?.restartCount === 1 && app.state?.running !== undefined;
  });
  // The stop of the old container, and creation and start of the new one.
  await eventually('the events are counted', async () => ((await node.metric(events)) ?? 0) >= before + 3);
});

it('after a restart of the runtime events are followed again', async () => {
  await node.containerd.restart();
  await eventually('events are followed again', async () => {
    return (await node.metric('kubelet_evented_pleg_connection_success_count')) === 2;
  });
  const [id = ''] = await node.running('one');
  await node.killProcess(id);
  await node.until('one', 'runs again', ({ containerStatuses: [app] = [] }) => {
    return app?.restartCount === 2 && app.state?.running !== undefined;
  });
});

it('lists that come in parts are those that come whole', async () => {
  const { cri } = node;
  const refused = () => Promise.reject(new CriError('Internal', 'the plain list was asked for'));
  const onlyStreams: CriRuntime = Object.assign(Object.create(cri), {
    listPodSandbox: refused,
    listContainers: refused,
    listContainerStats: refused,
    listPodSandboxStats: refused,
    listPodSandboxMetrics: refused,
    listImages: refused,
  });
  const streamed = streamedLists(onlyStreams);
  const byId = <T extends { readonly id: string }>(items: readonly T[]) =>
    [...items].sort((a, b) => a.id.localeCompare(b.id));
  const containers = byId((await streamed.listContainers({})).containers);
  expect(containers).toEqual(byId((await cri.listContainers({})).containers));
  expect(containers.length).toBeGreaterThan(0);
  const sandboxes = byId((await streamed.listPodSandbox({})).items);
  expect(sandboxes).toEqual(byId((await cri.listPodSandbox({})).items));
  const images = byId((await streamed.listImages({})).images);
  expect(images).toEqual(byId((await cri.listImages({})).images));
  const running = await node.running('one');
  const { stats } = await streamed.listContainerStats({});
  expect(stats.map(({ attributes }) => attributes?.id)).toEqual(expect.arrayContaining(running));
  const { podMetrics } = await streamed.listPodSandboxMetrics({});
  expect(podMetrics.map(({ podSandboxId }) => podSandboxId)).toEqual(await node.readySandboxes('one'));
  const { stats: pods } = await streamed.listPodSandboxStats({});
  expect(pods.map(({ attributes }) => attributes?.id)).toEqual(
    expect.arrayContaining(await node.readySandboxes('one')),
  );
});

it('the figures of pods on /metrics/cadvisor are those of the runtime', async () => {
  let page = '';
  const ofPod = (metric: string) =>
    page.split('\n').filter((line) => line.startsWith(`${metric}{`) && line.includes('pod="one-node1"'));
  await eventually('the runtime has measured the pod', async () => {
    page = await node.get('/metrics/cadvisor');
    return ofPod('container_memory_working_set_bytes').length > 0;
  });
  for (const metric of [
    'container_cpu_usage_seconds_total',
    'container_memory_working_set_bytes',
    'container_network_receive_bytes_total',
    'container_processes',
  ]) {
    expect(ofPod(metric), metric).not.toEqual([]);
  }
  expect(page).toMatch(/^# TYPE container_cpu_usage_seconds_total counter$/m);
});
