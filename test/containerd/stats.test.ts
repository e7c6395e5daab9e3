/** Statistics of pods on a real containerd, from the cgroups of the machine that this runs on. */
import { existsSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { linuxCgroups } from '../../src/resources/cgroups/index.js';
import type { Summary } from '../../src/resources/stats/index.js';
import { busybox, eventually, manifest, shell, TestNode } from './agent.js';

const version = existsSync('/sys/fs/cgroup/cgroup.controllers') ? 2 : 1;
const mebi = 1024 * 1024;
let node: TestNode;

beforeAll(async () => {
  node = await TestNode.create({
    config: ({ cgroupParent }) => ({ cgroupRoot: cgroupParent, cgroupsPerQOS: true }),
  });
  linuxCgroups({ version, hugePageSizes: [] }).create(node.containerd.cgroupParent);
  await node.start();
});
afterAll(() => node.stop());

const pods = (): string => `${node.containerd.cgroupParent}/kubepods`;
const limits = { cpu: '500m', memory: '64Mi' };

/** The value of the first sample of a family with all of these labels. */
function sample(text: string, family: string, ...labels: readonly string[]): number | undefined {
  const line = text
    .split('\n')
    .find((each) => each.startsWith(`${family}{`) && labels.every((label) => each.includes(label)));
  return line === undefined ? undefined : Number(line.slice(line.lastIndexOf('} ') + 2).split(' ')[0]);
}

it('a scrape tells of the machine, of pods, of sandboxes and of containers', async () => {
  const containers = [
    {
      name: 'app',
      image: busybox,
      command: shell("trap 'exit 0' TERM; while true; do i=$((i+1)); done"),
      resources: { requests: limits, limits },
    },
  ];
  await node.apply('busy.yaml', manifest('busy', { uid: 'uid-busy', spec: { containers } }));
  await node.untilReady('busy');
  const own = ['pod="busy-', 'container="app"'];
  await eventually(
    'it has worked',
    async () =>
      (sample(await node.get('/metrics/cadvisor'), 'container_cpu_usage_seconds_total', ...own) ?? 0) > 0.1,
  );
  const text = await node.get('/metrics/cadvisor');
  expect(text).toContain('\ncontainer_scrape_error 0\n');
  const podCgroup = `id="${pods()}/poduid-busy"`;
  const of = (family: string, ...labels: readonly string[]) => sample(text, `container_${family}`, ...labels);
  expect(of('spec_memory_limit_bytes', ...own)).toBe(64 * mebi);
  expect(of('spec_memory_limit_bytes', podCgroup)).toBe(64 * mebi);
  expect(of('spec_cpu_quota', ...own)).toBe(50_000);
  expect(of('cpu_cfs_periods_total', ...own)).toBeGreaterThan(0);
  expect(of('processes', ...own)).toBe(1);
  expect(of('file_descriptors', ...own)).toBeGreaterThan(2);
  expect(of('ulimits_soft', ...own, 'ulimit="max_open_files"')).toBeDefined();
  expect(of('memory_working_set_bytes', podCgroup)).toBeGreaterThan(0);
  expect(of('cpu_usage_seconds_total', 'id="/"')).toBeGreaterThan(0);
  expect(of('fs_limit_bytes', 'id="/"')).toBeGreaterThan(0);
  expect(of('oom_events_total', ...own)).toBe(0);
  const sandbox = ['pod="busy-', 'container=""', 'image="', 'interface="eth0"'];
  expect(of('network_receive_packets_total', ...sandbox)).toBeDefined();
  expect(text).toMatch(
    /^container_last_seen\{[^}]*pod="busy-[^}]*container="",image="[^"]+",name="[0-9a-f]{64}"/m,
  );
  expect(of('start_time_seconds', ...own)).toBeGreaterThan(1_700_000_000);
  const made = of('creation_time_seconds', ...own) ?? Number.NaN;
  expect(of('start_time_seconds', ...own)).toBeGreaterThanOrEqual(made - 1);
});

it('the first summary has the same pods with rates', async () => {
  const { node: machine, pods: told } = JSON.parse(await node.get('/stats/summary')) as Summary;
  const busy = told.find(({ podRef }) => podRef.name.startsWith('busy-'));
  expect(busy?.cpu?.usageNanoCores).toBeGreaterThan(1_000_000);
  expect(busy?.containers[0]?.cpu?.usageNanoCores).toBeGreaterThan(1_000_000);
  expect(machine.cpu?.usageNanoCores).toBeGreaterThan(1_000_000);
  expect(busy?.network?.rxBytes).toBeGreaterThanOrEqual(0);
});

it('a container that takes more than its limit is killed, which is counted and told on the pod', async () => {
  const containers = [
    {
      name: 'greedy',
      image: busybox,
      // The shell lives on, and with it the cgroup.
      command: shell("tail /dev/zero; trap 'exit 0' TERM; while true; do sleep 0.1; done"),
      resources: { limits: { memory: '24Mi' } },
    },
  ];
  await node.apply('greedy.yaml', manifest('greedy', { uid: 'uid-greedy', spec: { containers } }));
  await eventually('it is told', async () =>
    /The kernel killed process \\?"tail\\?" \(pid \d+\) of container greedy/.test(node.log),
  );
  const text = await node.get('/metrics/cadvisor');
  expect(sample(text, 'container_oom_events_total', 'pod="greedy-', 'container="greedy"')).toBeGreaterThan(0);
  expect(node.log).not.toContain('SystemOOM');
});
