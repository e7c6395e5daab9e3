/** What becomes of requests and limits in the runtime and in the kernel. */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PodSpec, ResourceRequirements } from '../../src/kube/index.js';
import { busybox, forever, manifest, TestNode } from './agent.js';

let node: TestNode;
let memoryBytes = 0;
beforeAll(async () => {
  memoryBytes = Number(/MemTotal:\s+(\d+)/.exec(await readFile('/proc/meminfo', 'utf8'))?.[1]) * 1024;
  node = await TestNode.create();
  await node.start();
});
afterAll(() => node.stop());

async function run(name: string, resources: ResourceRequirements, spec: Partial<PodSpec> = {}) {
  await node.apply(
    `${name}.yaml`,
    manifest(name, {
      spec: { containers: [{ name: 'app', image: busybox, command: forever, resources }], ...spec },
    }),
  );
  const status = await node.untilReady(name);
  const [containerId = ''] = await node.running(name);
  const { info } = await node.cri.containerStatus({ containerId, verbose: true });
  return { status, sent: JSON.parse(info.info ?? '{}').config.linux.resources };
}

/** A file of the container's own cgroup, as it sees it; this machine has cgroup v1. */
const cgroup = async (name: string, file: string): Promise<number> =>
  Number(await node.exec(name, 'app', 'cat', `/sys/fs/cgroup/${file}`));

const mebi = 1024 * 1024;

describe.concurrent('cpu and memory', () => {
  it('requests and limits', async () => {
    const { status, sent } = await run('both', {
      requests: { cpu: '250m', memory: '32Mi' },
      limits: { cpu: '1500m', memory: '64Mi' },
    });
    expect(sent).toMatchObject({
      cpu_shares: 256,
      cpu_quota: 150_000,
      cpu_period: 100_000,
      memory_limit_in_bytes: 64 * mebi,
    });
    expect(sent.oom_score_adj).toBe(
      1000 - Math.trunc((1000 * 32 * mebi) / memoryBytes) === 1000
        ? 999
        : 1000 - Math.trunc((1000 * 32 * mebi) / memoryBytes),
    );
    expect(await cgroup('both', 'cpu/cpu.shares')).toBe(256);
    expect(await cgroup('both', 'cpu/cpu.cfs_quota_us')).toBe(150_000);
    expect(await cgroup('both', 'memory/memory.limit_in_bytes')).toBe(64 * mebi);
    expect(status.qosClass).toBe('Burstable');
    expect(status.containerStatuses?.[0]?.resources).toEqual({
      requests: { cpu: '250m', memory: '32Mi' },
      limits: { cpu: '1500m', memory: '64Mi' },
    });
  });

  it('none at all', async () => {
    const { status, sent } = await run('none', {});
    expect(sent).toMatchObject({ cpu_shares: 2, oom_score_adj: 1000 });
    expect(sent.memory_limit_in_bytes ?? 0).toBe(0);
    expect(await cgroup('none', 'cpu/cpu.shares')).toBe(2);
    expect(await cgroup('none', 'cpu/cpu.cfs_quota_us')).toBe(-1);
    expect(status.qosClass).toBe('BestEffort');
  });

  it('a guaranteed pod', async () => {
    const list = { cpu: '100m', memory: '16Mi' };
    const { status, sent } = await run('sure', { requests: list, limits: list });
    expect(sent).toMatchObject({ cpu_shares: 102, cpu_quota: 10_000, oom_score_adj: -997 });
    expect(status.qosClass).toBe('Guaranteed');
  });

  it('a limit alone is the request, too; a tiny limit is raised to what the kernel takes', async () => {
    const { sent } = await run('limit', { limits: { cpu: '5m' } });
    expect(sent).toMatchObject({ cpu_shares: 5, cpu_quota: 1_000 });
  });

  it('huge pages are limited in every size', async () => {
    const { sent } = await run('pages', {});
    for (const { limit = 0 } of sent.hugepage_limits ?? []) expect(limit).toBe(0);
  });
});

it('restart counts survive the death of the agent', async () => {
  await node.apply('counts.yaml', manifest('counts', {}));
  await node.untilReady('counts');
  const [id = ''] = await node.running('counts');
  await node.killProcess(id);
  await node.until(
    'counts',
    'ran twice',
    ({ containerStatuses = [] }) => containerStatuses[0]?.restartCount === 1,
  );
  await node.untilReady('counts');
  await node.kill('SIGKILL');
  await node.start();
  const status = await node.untilReady('counts');
  expect(status.containerStatuses?.[0]?.restartCount).toBe(1);
  const [again = ''] = await node.running('counts');
  await node.killProcess(again);
  await node.until(
    'counts',
    'ran three times',
    ({ containerStatuses = [] }) => containerStatuses[0]?.restartCount === 2,
  );
});
