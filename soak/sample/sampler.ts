/** Takes the samples of a soak: a row of figures from the agent, its runtime and its machine, and the rates between two rows. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { FigureValues } from '../judge/figures.js';
import type { SoakWorld } from '../world/world.js';
import { askGauge, type CallCounts, readCalls } from './agent-pages.js';
import {
  countPacketRules,
  type FileSample,
  type MachineSample,
  sampleFiles,
  sampleMachine,
} from './machine-sample.js';
import { sampleProcess } from './process-sample.js';
import { type RuntimeSample, sampleRuntime } from './runtime-sample.js';

export interface Look {
  readonly atMs: number;
  readonly life: number;
  readonly values: FigureValues;
  readonly machine: MachineSample;
  readonly files: FileSample;
  readonly runtime: RuntimeSample | undefined;
  readonly cpuMs: number | undefined;
  readonly calls: CallCounts | undefined;
}

export interface LookOptions {
  /** Collects the agent's garbage first, so that its heap holds only what is used. */
  readonly collects?: boolean;
  /** Counts packet rules, which takes a program. */
  readonly countsRules?: boolean;
  /** Rates are counted from there. */
  readonly since?: Look;
}

/** One look at everything; what cannot be asked at this moment has no figures. */
export async function look(world: SoakWorld, nowMs: number, options: LookOptions = {}): Promise<Look> {
  const { agent, containerd, cri } = world;
  const { pid, life } = agent;
  const own =
    pid === undefined ? undefined : await askGauge(agent.gaugeSocket, options.collects ? 'collect' : 'read');
  const taken = pid === undefined ? undefined : sampleProcess(pid);
  const calls = pid === undefined ? undefined : await readCalls(agent.readOnlyUrl);
  const runtime = await sampleRuntime(cri);
  const machine = sampleMachine(containerd, agent);
  const files = sampleFiles(agent);
  const before = options.since?.life === life ? options.since : undefined;
  const seconds = before === undefined ? 0 : (nowMs - before.atMs) / 1000;
  const rate = (now: number | undefined, then: number | undefined): number | undefined =>
    now === undefined || then === undefined || seconds <= 0 ? undefined : (now - then) / seconds;
  const values = {
    rssBytes: taken?.rssBytes,
    heapBytes: own?.heapUsedBytes,
    externalBytes: own === undefined ? undefined : own.externalBytes,
    handles: taken?.handles,
    ...prefixed('handles', taken?.handleKinds),
    resources: own === undefined ? undefined : total(own.resources),
    ...prefixed('resources', own?.resources),
    threads: taken?.threads,
    cpuMsPerSecond: rate(taken?.cpuMs, before?.cpuMs),
    runtimeCallsPerSecond: rate(total(calls?.runtime), total(before?.calls?.runtime)),
    ...rates('runtimeCalls', calls?.runtime, before?.calls?.runtime, rate),
    apiCallsPerSecond: rate(total(calls?.api), total(before?.calls?.api)),
    loopDelayMs: own?.loopDelayMs,
    loopDelayMaxMs: own?.loopDelayMaxMs,
    mounts: machine.mounts.length,
    cgroups: machine.cgroups.length,
    sandboxes: runtime?.sandboxes.length,
    containers: runtime?.containers.length,
    shims: machine.shims.length,
    networkNamespaces: machine.networkNamespaces,
    links: machine.links,
    addresses: machine.addresses,
    packetRules: options.countsRules === true ? await countPacketRules(containerd) : undefined,
    rootFiles: files.rootFiles,
    rootBytesBesideTimeline: files.rootBytes - files.timelineBytes,
    timelineBytes: files.timelineBytes,
    logFiles: files.logFiles,
    logLinks: files.logLinks,
    logBytes: files.logBytes,
    runtimeRssBytes: containerd.pid === undefined ? undefined : sampleProcess(containerd.pid)?.rssBytes,
  };
  return { atMs: nowMs, life, values: known(values), machine, files, runtime, cpuMs: taken?.cpuMs, calls };
}

/** How often each container was started, by `<pod uid>.<container>`: a line of two bytes for each start. */
export function readStarts(startsDir: string): Map<string, number> {
  if (!existsSync(startsDir)) return new Map();
  return new Map(readdirSync(startsDir).map((name) => [name, statSync(join(startsDir, name)).size / 2]));
}

function total(counts: Readonly<Record<string, number>> | undefined): number | undefined {
  return counts === undefined ? undefined : Object.values(counts).reduce((sum, count) => sum + count, 0);
}

function prefixed(prefix: string, counts: Readonly<Record<string, number>> = {}): Record<string, number> {
  return Object.fromEntries(Object.entries(counts).map(([name, count]) => [`${prefix}.${name}`, count]));
}

function rates(
  prefix: string,
  now: Readonly<Record<string, number>> = {},
  then: Readonly<Record<string, number>> = {},
  rate: (now: number, then: number) => number | undefined,
): Record<string, number | undefined> {
  return Object.fromEntries(
    Object.entries(now).map(([name, count]) => [`${prefix}.${name}`, rate(count, then[name] ?? 0)]),
  );
}

function known(values: Readonly<Record<string, number | undefined>>): FigureValues {
  const entries = Object.entries(values).filter((entry): entry is [string, number] => entry[1] !== undefined);
  return Object.fromEntries(entries);
}
