/** nodelet as a systemd unit on a whole machine: slices, notify, watchdog, a kill, and the order of a power-off. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Summary } from '../../src/resources/stats/index.js';
import { archiveImages, buildTestImages } from '../env/images.js';
import { CleanupStack, createTempDir, runCommand } from '../env/index.js';
import { runVm, type VmOutcome } from '../env/vm.js';
import { pods } from './guest/machine.js';
import type { GuestReport } from './guest/report.js';

const project = fileURLToPath(new URL('../..', import.meta.url));
const kubepods = '/kubepods.slice';
const burstable = `${kubepods}/kubepods-burstable.slice`;
const besteffort = `${kubepods}/kubepods-besteffort.slice`;
const podSlice = (parent: string, name: string): string => {
  const uid = pods.find(({ metadata }) => metadata.name === name)?.metadata.uid.replaceAll('-', '_');
  return `${parent}/${path.basename(parent, '.slice')}-pod${uid}.slice`;
};

/** An archive of what `npm install --global` puts below its prefix. */
async function installedPackage(dir: string): Promise<string> {
  const prefix = path.join(dir, 'prefix');
  const archive = path.join(dir, 'usr-local.tar');
  const npm = (...args: string[]): Promise<unknown> =>
    runCommand('npm', [...args, '--offline', '--ignore-scripts', '--no-audit', '--no-fund'], {
      env: { npm_config_cache: path.join(dir, 'npm-cache') },
      timeoutMs: 120_000,
    });
  await npm('pack', project, '--silent', '--pack-destination', dir);
  const [packed = ''] = readdirSync(dir).filter((name) => name.endsWith('.tgz'));
  await npm('install', '--global', '--prefix', prefix, path.join(dir, packed));
  await runCommand('tar', ['--create', `--file=${archive}`, `--directory=${prefix}`, 'bin', 'lib']);
  return archive;
}

describe('a machine with systemd and cgroup v2', () => {
  const cleanups = new CleanupStack();
  let outcome: VmOutcome;
  let report: GuestReport;
  const left = (name: string): string => readFileSync(path.join(outcome.payload, name), 'utf8');
  const maybe = (name: string): string =>
    existsSync(path.join(outcome.payload, name)) ? left(name).slice(-6_000) : '(none)';

  beforeAll(async () => {
    const { path: dir } = await createTempDir('vm-guest', { cleanups });
    const guest = path.join(dir, 'guest.mjs');
    await build({
      entryPoints: [path.join(project, 'test/vm/guest/guest.ts')],
      outfile: guest,
      bundle: true,
      platform: 'node',
      format: 'esm',
      target: 'node20',
      logLevel: 'warning',
    });
    const images = await archiveImages(Object.values(await buildTestImages()));
    outcome = await runVm({
      payload: {
        'guest.mjs': guest,
        'images.tar': images,
        'usr-local.tar': await installedPackage(dir),
      },
      timeoutMs: 20 * 60_000,
      cleanups,
    });
    if (outcome.timedOut || !existsSync(path.join(outcome.payload, 'results.json'))) {
      const shown = ['guest.log', 'journal.log'].map((name) => `== ${name}\n${maybe(name)}`);
      throw new Error(
        `the machine did not do its work\n${outcome.console.slice(-3_000)}\n${shown.join('\n')}`,
      );
    }
    report = JSON.parse(left('results.json'));
  });
  afterAll(() => cleanups.run());

  it('starts nodelet as a unit of type notify', () => {
    expect(report.units['nodelet.service']).toMatchObject({ ActiveState: 'active', SubState: 'running' });
  });

  it('installs a unit that systemd has nothing against, and starts it at boot', () => {
    expect(report.unitComplaints).toBe('');
    expect(report.enabled[0]).toBe('enabled');
    expect(report.units['nodelet.service']).toMatchObject({ Type: 'notify', WatchdogUSec: '30s' });
  });

  it('writes its log to the journal', () => {
    expect(report.journal).toContain('event.Starting: Starting kubelet.');
    // The argument of the environment file is in force.
    expect(report.journal).toContain('DEBUG');
  });

  it('is fed its watchdog', () => {
    expect(report.watchdogFed).toBe(true);
  });

  it.each([
    ['of all pods', kubepods, '-.slice'],
    ['of Burstable pods', burstable, 'kubepods.slice'],
    ['of BestEffort pods', besteffort, 'kubepods.slice'],
    ['of a Guaranteed pod', podSlice(kubepods, 'guaranteed'), 'kubepods.slice'],
    ['of a Burstable pod', podSlice(burstable, 'burstable'), 'kubepods-burstable.slice'],
    ['of a BestEffort pod', podSlice(besteffort, 'besteffort'), 'kubepods-besteffort.slice'],
  ])('has a transient slice %s', (_, cgroup, parent) => {
    const unit = path.basename(cgroup);
    expect(report.units[unit]).toMatchObject({
      ActiveState: 'active',
      Description: `libcontainer container ${unit}`,
      Wants: parent,
      Transient: 'yes',
      MemoryAccounting: 'yes',
      CPUAccounting: 'yes',
      IOAccounting: 'yes',
      TasksAccounting: 'yes',
      DefaultDependencies: 'no',
    });
  });

  it.each([
    ['the memory of a Guaranteed pod', podSlice(kubepods, 'guaranteed'), 'memory.max', String(64 << 20)],
    // 333m is no whole percent, which is all that systemd keeps: it is rounded up.
    ['the quota of a Guaranteed pod', podSlice(kubepods, 'guaranteed'), 'cpu.max', '34000 100000'],
    ['the weight of a Guaranteed pod', podSlice(kubepods, 'guaranteed'), 'cpu.weight', '13'],
    ['the weight of a Burstable pod', podSlice(burstable, 'burstable'), 'cpu.weight', '10'],
    ['the processes of a pod', podSlice(besteffort, 'besteffort'), 'pids.max', '500'],
    ['the weight of BestEffort pods', besteffort, 'cpu.weight', '1'],
  ])('has %s in the kernel', (_, cgroup, file, value) => {
    expect(report.cgroups[cgroup]?.files[file]).toBe(value);
  });

  it('tells systemd the same values, so that a reload of units keeps them', () => {
    expect(report.units[path.basename(podSlice(kubepods, 'guaranteed'))]).toMatchObject({
      MemoryMax: String(64 << 20),
      CPUQuotaPerSecUSec: '340ms',
      TasksMax: '500',
    });
  });

  it('gives pods the controllers that systemd does not turn on by itself', () => {
    const controllers = report.cgroups[podSlice(kubepods, 'guaranteed')]?.files['cgroup.controllers'];
    expect(controllers?.split(' ')).toEqual(expect.arrayContaining(['cpu', 'cpuset', 'memory', 'pids']));
  });

  it.each([
    ['guaranteed', kubepods],
    ['burstable', burstable],
    ['besteffort', besteffort],
  ])('runs the container of the %s pod in the slice of its pod', (name, parent) => {
    expect(report.containers[name]?.cgroup).toContain(`${podSlice(parent, name)}/`);
  });

  describe('statistics', () => {
    const mebi = 1 << 20;
    /** The value of the first sample of a family with all of these labels. */
    const sample = (family: string, ...labels: readonly string[]): number | undefined => {
      const line = left('cadvisor.txt')
        .split('\n')
        .find((each) => each.startsWith(`${family}{`) && labels.every((label) => each.includes(label)));
      return line === undefined ? undefined : Number(line.slice(line.lastIndexOf('} ') + 2).split(' ')[0]);
    };
    const slice = podSlice(kubepods, 'guaranteed');
    const ofSlice = `id="${slice}"`;
    const ofContainer = 'pod="guaranteed-';

    it('of a scrape fail in nothing', () => {
      expect(left('cadvisor.txt')).toContain('\ncontainer_scrape_error 0\n');
      expect(left('cadvisor.txt')).toContain('\nmachine_scrape_error 0\n');
    });

    it.each(['/', kubepods, burstable, besteffort])('have the cgroup %s', (cgroup) => {
      expect(sample('container_last_seen', `id="${cgroup}"`)).toBeGreaterThan(1_700_000_000);
      expect(sample('container_cpu_usage_seconds_total', `id="${cgroup}"`)).toBeGreaterThan(0);
      expect(sample('container_memory_working_set_bytes', `id="${cgroup}"`)).toBeGreaterThan(0);
    });

    it('name the pod of a slice, and the container of a scope in it', () => {
      expect(sample('container_last_seen', ofSlice, ofContainer, 'container=""')).toBeDefined();
      const id = report.containers.guaranteed?.id;
      const scope = `id="${slice}/cri-containerd-${id}.scope"`;
      expect(sample('container_last_seen', scope, `name="${id}"`, 'container="app"')).toBeDefined();
    });

    it.each<[string, string, readonly string[], number]>([
      ['the memory limit of the pod', 'container_spec_memory_limit_bytes', [ofSlice], 64 * mebi],
      [
        'the memory limit of the container',
        'container_spec_memory_limit_bytes',
        ['container="app"'],
        64 * mebi,
      ],
      ['the quota of the pod', 'container_spec_cpu_quota', [ofSlice], 34_000],
      ['the period of the pod', 'container_spec_cpu_period', [ofSlice], 100_000],
      ['the most threads of the pod', 'container_threads_max', [ofSlice], 500],
      ['no process in the slice itself', 'container_processes', [ofSlice], 0],
    ])('tell %s', (_, family, labels, value) => {
      expect(sample(family, ofContainer, ...labels)).toBe(value);
    });

    it.each([
      'container_cpu_user_seconds_total',
      'container_cpu_system_seconds_total',
      'container_cpu_cfs_periods_total',
      'container_memory_usage_bytes',
      'container_memory_rss',
      'container_memory_cache',
      'container_memory_max_usage_bytes',
      'container_memory_events_max_total',
      'container_memory_failures_total',
      'container_memory_pgscan_total',
      'container_pressure_cpu_waiting_seconds_total',
      'container_pressure_memory_stalled_seconds_total',
      'container_pressure_io_waiting_seconds_total',
      'container_processes',
      'container_threads',
      'container_file_descriptors',
      'container_ulimits_soft',
      'container_oom_events_total',
      'container_start_time_seconds',
    ])('have %s of a container', (family) => {
      expect(sample(family, ofContainer, 'container="app"')).toBeGreaterThanOrEqual(0);
    });

    it('of a sandbox have its network', () => {
      const sandbox = [ofContainer, 'container=""', 'interface="eth0"'];
      expect(sample('container_network_receive_packets_total', ...sandbox)).toBeGreaterThanOrEqual(0);
    });

    it('are summed up for the pod, and for all pods', () => {
      const { node, pods: told }: Summary = JSON.parse(left('summary.json'));
      const pod = told.find(({ podRef }) => podRef.name.startsWith('guaranteed'));
      expect(pod?.memory?.workingSetBytes).toBeGreaterThan(0);
      expect(pod?.memory?.workingSetBytes).toBeLessThan(64 * mebi);
      expect(pod?.cpu?.usageCoreNanoSeconds).toBeGreaterThan(0);
      expect(pod?.process_stats?.process_count).toBeGreaterThan(0);
      expect(pod?.containers.map(({ name }) => name)).toEqual(['app']);
      const ofPods = node.systemContainers?.find(({ name }) => name === 'pods');
      expect(ofPods?.memory?.workingSetBytes).toBeGreaterThan(pod?.memory?.workingSetBytes ?? 0);
      expect(node.memory?.workingSetBytes).toBeGreaterThan(ofPods?.memory?.workingSetBytes ?? 0);
      expect(node.fs?.availableBytes).toBeGreaterThan(0);
    });
  });

  it('names the reason of a container that was killed for its memory', () => {
    expect(report.oomReason).toBe('OOMKilled');
  });

  it('comes back after kill -9 with the same containers', () => {
    const [before, after] = report.agentPids;
    expect(after).not.toBe(before);
    expect(report.containersAfterKill).toEqual(report.containers);
  });

  it('is stopped and removed, and its pods run on', () => {
    expect(report.stopped).toMatchObject({ ActiveState: 'inactive', Result: 'success' });
    expect(report.removed).toMatchObject({ LoadState: 'not-found' });
    expect(report.enabled[1]).toBe('no');
    const ids = Object.values(report.containers).map(({ id }) => id);
    expect(report.containersWithoutAgent).toEqual(expect.arrayContaining(ids));
  });

  it('finds its pods when it is installed again', () => {
    expect(report.containersAfterInstall).toEqual(report.containers);
  });

  it('holds a lock that delays the shutdown', () => {
    expect(report.inhibitors).toMatch(/kubelet .*shutdown .*delay/);
  });

  it('ends pods at a power-off in order: the others first, then the critical ones', () => {
    const at = (name: string): number => Number(left(`ends/${name}`));
    for (const name of ['guaranteed', 'burstable', 'besteffort']) {
      expect(at(`${name}.ended`)).toBeGreaterThanOrEqual(at(`${name}.told`));
      expect(at('critical.told')).toBeGreaterThanOrEqual(at(`${name}.ended`));
    }
    expect(at('critical.ended')).toBeGreaterThanOrEqual(at('critical.told'));
  });
});
