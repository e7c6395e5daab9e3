/** nodelet as a systemd unit on a whole machine: slices, notify, watchdog, a kill, and the order of a power-off. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { archiveImages, buildTestImages } from '../env/images.js';
import { CleanupStack, createTempDir } from '../env/index.js';
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
        'nodelet/bin': path.join(project, 'bin'),
        'nodelet/dist': path.join(project, 'dist'),
        'nodelet/package.json': path.join(project, 'package.json'),
      },
      timeoutMs: 20 * 60_000,
      cleanups,
    });
    if (outcome.timedOut || !existsSync(path.join(outcome.payload, 'results.json'))) {
      const shown = ['guest.log', 'agent.log', 'journal.log'].map((name) => `== ${name}\n${maybe(name)}`);
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

  it('names the reason of a container that was killed for its memory', () => {
    expect(report.oomReason).toBe('OOMKilled');
  });

  it('comes back after kill -9 with the same containers', () => {
    const [before, after] = report.agentPids;
    expect(after).not.toBe(before);
    expect(report.containersAfterKill).toEqual(report.containers);
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
