/** One scrape of `/metrics/cadvisor`: lists cgroups and containers, reads each cgroup once, and writes the text. */
import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../../async/index.js';
import type { CriRuntime } from '../../cri/index.js';
import { type MachineShape, machineText } from './cadvisor-machine.js';
import { containersText } from './cadvisor-metrics.js';
import { type KnownOwners, OwnerBook } from './cadvisor-owner-book.js';
import { basicsOfSample, type CadvisorSubject } from './cadvisor-subject.js';
import { summarySubjects } from './cadvisor-summary.js';
import type { CgroupSampler, DetailedSample } from './cgroup-sampler.js';
import { type DiskCounters, deviceNames, type FilledFileSystem } from './mounted-file-systems.js';
import type { MeasuredNode, SystemCgroup } from './provider.js';

export interface CadvisorScrapeOptions {
  readonly cri: Pick<CriRuntime, 'listPodSandbox' | 'listContainers'> &
    Partial<Pick<CriRuntime, 'podSandboxStatus'>>;
  readonly clock: Clock;
  /** Undefined where no cgroup can be read: then all figures are the summary's. */
  readonly cgroups: CgroupSampler | undefined;
  readonly systemCgroups: () => Promise<readonly SystemCgroup[]>;
  /** Gives a lookup of pods' cgroups by UID, as the pods are now. */
  readonly podCgroups: () => (podUid: string) => string | undefined;
  readonly fileSystems: () => Promise<readonly FilledFileSystem[]>;
  readonly disks: () => ReadonlyMap<string, DiskCounters>;
  readonly machine: () => MachineShape;
  readonly version: string;
  readonly oomKills: { of(cgroup: string): number; keep(isThere: (cgroup: string) => boolean): void };
  /** The summary, for containers whose cgroup is unknown. */
  readonly measured: () => Promise<MeasuredNode>;
}

export interface CadvisorPage {
  /** The text in parts, each made when it is its turn: with many pods the whole has some ten megabytes. */
  readonly parts: Iterable<string>;
  /** What could not be read. */
  readonly error?: unknown;
}

/** How long cgroups are read without a break. */
const turnMs = 2;

export function cadvisorScrape(options: CadvisorScrapeOptions): () => Promise<CadvisorPage> {
  const { cri, cgroups: sampler, podCgroups } = options;
  const book = sampler && new OwnerBook({ cri, sampler, podCgroups });
  let machine: MachineShape | undefined;
  return async () => {
    const errors: unknown[] = [];
    let subjects: readonly CadvisorSubject[] = [];
    try {
      subjects =
        sampler === undefined || book === undefined
          ? summarySubjects(await options.measured())
          : await subjectsNow(options, sampler, book);
    } catch (error) {
      errors.push(error);
    }
    const failed = { containers: errors.length > 0, machine: false };
    try {
      // As it was at the first scrape: a machine keeps its shape.
      machine ??= options.machine();
    } catch (error) {
      errors.push(error);
      failed.machine = true;
    }
    const { oomKills, clock, version } = options;
    const now = { nowMs: clock.now(), oomKills: (cgroup: string) => oomKills.of(cgroup) };
    const machineFamilies = machineText(machine, version, failed);
    // Scrapes at the same time share a page, and each makes the text anew.
    const parts = { [Symbol.iterator]: () => pageParts(containersText(subjects, now), machineFamilies) };
    return errors.length === 0 ? { parts } : { parts, error: errors[0] };
  };
}

function* pageParts(containers: Iterable<string>, machine: string): Generator<string> {
  yield* containers;
  yield machine;
}

async function subjectsNow(
  options: CadvisorScrapeOptions,
  sampler: CgroupSampler,
  book: OwnerBook,
): Promise<CadvisorSubject[]> {
  const { clock, systemCgroups, oomKills } = options;
  const [system, fileSystems] = await Promise.all([systemCgroups(), options.fileSystems()]);
  const listed = sampler.list(['/', ...system.map(({ cgroup }) => cgroup)]);
  const owned = await book.of(listed, system.find(({ name }) => name === 'pods')?.cgroup);
  const disks = options.disks();
  const mounted = new Map(fileSystems.map(({ device, label }) => [device, label]));
  const names = { ofContainers: deviceNames(disks, new Map()), ofOthers: deviceNames(disks, mounted) };
  const rows = fileSystems.map((each) => ({ ...each, disk: disks.get(each.device) }));
  const subjects: CadvisorSubject[] = [];
  const { shown } = owned;
  let turnBegan = clock.monotonic();
  for (const cgroup of shown) {
    // The rest of the agent goes on between two cgroups; one with many open files is slow to read.
    if (clock.monotonic() - turnBegan >= turnMs) {
      await setImmediate();
      turnBegan = clock.monotonic();
    }
    // One that vanished meanwhile has no samples.
    const sample = sampler.detailed(cgroup);
    if (sample !== undefined) subjects.push(subjectOf(cgroup, sample, owned, names, rows, sampler));
  }
  sampler.settle(shown);
  oomKills.keep((cgroup) => sampler.isThere(cgroup));
  if (owned.homeless.some(({ isSandbox }) => !isSandbox)) {
    const ids = new Set(owned.homeless.map(({ id }) => id));
    subjects.push(...summarySubjects(await options.measured(), ids));
  }
  return subjects;
}

function subjectOf(
  cgroup: string,
  sample: DetailedSample,
  { owners, labels }: KnownOwners,
  names: { readonly [K in 'ofContainers' | 'ofOthers']: ReturnType<typeof deviceNames> },
  fileSystems: CadvisorSubject['fileSystems'],
  sampler: CgroupSampler,
): CadvisorSubject {
  const isRoot = cgroup === '/';
  const owner = owners.get(cgroup);
  const nameOf = owner === undefined ? names.ofOthers : names.ofContainers;
  const allDevices = sample.details.devices.map((device) => ({ ...device, label: nameOf(device) }));
  const pid = isRoot ? 1 : owner?.isSandbox === true ? sample.processes.firstPid : undefined;
  const interfaces = pid === undefined ? undefined : sampler.network(pid);
  const { createdAtMs } = sample;
  return {
    kind: isRoot ? 'root' : owner === undefined ? 'cgroup' : 'container',
    labels: labels.get(cgroup) ?? '',
    id: cgroup,
    createdMs: owner?.createdMs ?? createdAtMs,
    startMs: createdAtMs,
    basics: basicsOfSample(sample),
    sample,
    network: interfaces && { atMs: sample.atMs, interfaces },
    devices: new Map(allDevices.map((device) => [device.label, device])),
    allDevices,
    fileSystems: isRoot ? fileSystems : [],
  };
}
