/**
 * The file `cpu_manager_state` in the reference kubelet's formats, so that a node can be switched from one to the other:
 * version 4 is written, versions 4, 3 and 2 are read.
 */
import { CpuSet, fnv32a } from '../../kube/index.js';
import type { CpuEntries, CpuState } from './cpu-state.js';

/** What is wrong with the file, in the reference's words. */
export class CpuCheckpointError extends Error {
  override readonly name = 'CpuCheckpointError';
}

export interface CpuCheckpoint {
  readonly policyName: string;
  readonly state: CpuState;
}

type EntryTexts = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** The parts that every version has, as texts. */
interface CheckpointTexts {
  readonly policyName: string;
  readonly defaultCpuSet: string;
  readonly entries: EntryTexts;
  readonly podEntries: Readonly<Record<string, { readonly cpuSet: string }>>;
  /** Undefined where nobody asks for them. */
  readonly baselines: EntryTexts | undefined;
}

export function formatCpuCheckpoint({ policyName, state }: CpuCheckpoint): string {
  const entries = sortedRecord(state.entries, (containers) => sortedRecord(containers, String));
  const podEntries = sortedRecord(state.podEntries, (cpus) => ({ cpuSet: String(cpus) }));
  const outer = {
    policyName,
    defaultCpuSet: String(state.defaultCpuSet),
    ...(state.entries.size === 0 ? {} : { entries }),
  };
  const { baselines = new Map() } = state;
  const data = JSON.stringify({
    ...outer,
    ...(state.podEntries.size === 0 ? {} : { podEntries }),
    ...(baselines.size === 0 ? {} : { baselines: baselineRecords(baselines) }),
  });
  const texts = { ...outer, entries, podEntries, baselines: undefined };
  return JSON.stringify({
    ...outer,
    checksum: fnv(flatDump(texts, 'CPUManagerCheckpoint')),
    data,
    dataChecksum: fnv(`(string)${data}`),
  });
}

function baselineRecords(baselines: CpuEntries): object {
  return sortedRecord(baselines, (containers) =>
    sortedRecord(containers, (cpus) => ({ baseline: String(cpus) })),
  );
}

export interface CpuCheckpointReading {
  /** Whether the gate PodLevelResourceManagers is off. */
  readonly readsV2Names: boolean;
  /** Whether the gate InPlacePodVerticalScalingExclusiveCPUs is on; default no. */
  readonly readsBaselines?: boolean | undefined;
}

/** Throws a `CpuCheckpointError` for anything that no kubelet has written. */
export function parseCpuCheckpoint(
  text: string,
  { readsV2Names, readsBaselines = false }: CpuCheckpointReading,
): CpuCheckpoint {
  const file = parsed(text, 'checkpoint is corrupted');
  const { data = '', dataChecksum = 0 } = file;
  if (data !== '' || dataChecksum !== 0) {
    if (typeof data !== 'string' || fnv(`(string)${data}`) !== dataChecksum)
      throw new CpuCheckpointError('could not load v4 checkpoint: checkpoint is corrupted');
    const broken = 'could not load v4 checkpoint: failed to deserialize cpu manager checkpoint data';
    const inner = parsed(data, `${broken}: it is not JSON`);
    return checkpointOf(textsOf(inner, `${broken}: a field has a wrong type`, readsBaselines));
  }
  const texts = textsOf(file, 'checkpoint is corrupted', false);
  const { checksum } = file;
  const v3 = ['CPUManagerCheckpoint', 'CPUManagerCheckpointV3'].map((type) => podDump(texts, type));
  const v2Types = ['CPUManagerCheckpoint', ...(readsV2Names ? ['CPUManagerCheckpointV2'] : [])];
  const v2 = v2Types.map((type) => flatDump(texts, type));
  const isKnown = checksum === 0 || [...v3, ...v2].some((dump) => fnv(dump) === checksum);
  if (!isKnown) throw new CpuCheckpointError('checkpoint is corrupted');
  return checkpointOf(texts);
}

function checkpointOf(texts: CheckpointTexts): CpuCheckpoint {
  const { policyName, defaultCpuSet, entries, podEntries, baselines } = texts;
  const state = {
    defaultCpuSet: parseSet(defaultCpuSet, `default CPU set "${defaultCpuSet}"`),
    entries: parseEntries(entries, 'cpuset'),
    ...(baselines === undefined ? {} : { baselines: parseEntries(baselines, 'baseline cpuset') }),
    podEntries: new Map(
      Object.entries(podEntries).map(([pod, { cpuSet }]) => [
        pod,
        parseSet(cpuSet, `cpuset "${cpuSet}" for pod "${pod}"`),
      ]),
    ),
  };
  return { policyName, state };
}

function parseEntries(entries: EntryTexts, what: string): CpuEntries {
  return new Map(
    Object.entries(entries).map(([pod, containers]) => [
      pod,
      new Map(
        Object.entries(containers).map(([name, cpus]) => [
          name,
          parseSet(cpus, `${what} "${cpus}" for container "${name}" in pod "${pod}"`),
        ]),
      ),
    ]),
  );
}

function parseSet(text: string, what: string): CpuSet {
  try {
    return CpuSet.parse(text);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new CpuCheckpointError(`could not parse ${what}: ${reason}`, { cause });
  }
}

/** As the reference prints what it hashes. */
function flatDump(texts: CheckpointTexts, type: string): string {
  return `(*state.${type}){${commonDump(texts)} Checksum:(checksum.Checksum)0}`;
}

function podDump(texts: CheckpointTexts, type: string): string {
  const pods = sortedKeys(texts.podEntries).map((uid) => {
    const cpus = [...parseSet(texts.podEntries[uid]?.cpuSet ?? '', `cpuset of pod "${uid}"`)];
    const elements = cpus.map((cpu) => `${cpu}:{}`).join(' ');
    return `${uid}:{CPUSet:(cpuset.CPUSet){elems:(map[int]struct {})map[${elements}]}}`;
  });
  const podEntries = `PodEntries:(state.PodCPUAssignments)map[${pods.join(' ')}]`;
  return `(*state.${type}){${commonDump(texts)} ${podEntries} Checksum:(checksum.Checksum)0}`;
}

function commonDump({ policyName, defaultCpuSet, entries }: CheckpointTexts): string {
  const pods = sortedKeys(entries).map((pod) => {
    const containers = entries[pod] ?? {};
    return `${pod}:map[${sortedKeys(containers)
      .map((name) => `${name}:${containers[name]}`)
      .join(' ')}]`;
  });
  const dumped = `Entries:(map[string]map[string]string)map[${pods.join(' ')}]`;
  return `PolicyName:(string)${policyName} DefaultCPUSet:(string)${defaultCpuSet} ${dumped}`;
}

function fnv(text: string): number {
  return fnv32a(new TextEncoder().encode(text));
}

function parsed(text: string, problem: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new CpuCheckpointError(problem, { cause });
  }
  if (!isRecord(value)) throw new CpuCheckpointError(problem);
  return value;
}

function textsOf(
  file: Readonly<Record<string, unknown>>,
  problem: string,
  readsBaselines: boolean,
): CheckpointTexts {
  const { policyName = '', defaultCpuSet = '', entries = {}, podEntries = {}, baselines = {} } = file;
  const text = (value: unknown): string => {
    if (typeof value !== 'string') throw new CpuCheckpointError(problem);
    return value;
  };
  const record = <T>(value: unknown, read: (member: unknown) => T): Record<string, T> => {
    if (!isRecord(value)) throw new CpuCheckpointError(problem);
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, read(member)]));
  };
  return {
    policyName: text(policyName),
    defaultCpuSet: text(defaultCpuSet),
    entries: record(entries ?? {}, (containers) => record(containers, text)),
    podEntries: record(podEntries ?? {}, (entry) => ({
      cpuSet: text(isRecord(entry) ? (entry.cpuSet ?? '') : entry),
    })),
    baselines: readsBaselines
      ? record(baselines ?? {}, (containers) =>
          record(containers, (entry) => text(isRecord(entry) ? (entry.baseline ?? '') : entry)),
        )
      : undefined,
  };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function sortedKeys(record: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.keys(record).sort();
}

function sortedRecord<T, R>(map: ReadonlyMap<string, T>, made: (value: T) => R): Record<string, R> {
  const members = [...map].sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(members.map(([name, value]) => [name, made(value)]));
}
