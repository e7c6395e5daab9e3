/** Our protobuf codec against `@bufbuild/protobuf`: CPU a message, and what either adds to a process. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { createFileRegistry, type DescMessage, fromBinary, toBinary } from '@bufbuild/protobuf';
import { ListContainersResponse, RunPodSandboxRequest } from '../../src/cri/index.js';
import { CleanupStack, createTempDir } from '../../test/env/index.js';
import { atMost, type Bench, type Measure, medianOf } from '../measure.js';
import { criDescriptor } from './descriptor.js';
import { containerList, sandboxRequest } from './messages.js';
import { buildPrograms, costOf, type Programs } from './start-up.js';

const rounds = 15;
const sampleMs = 15;
const startRounds = 7;

/** The same work by either codec. */
interface Work {
  readonly name: string;
  readonly ours: () => unknown;
  readonly theirs: () => unknown;
}

export const codec: Bench = {
  name: 'codec',
  summary: 'our protobuf codec against @bufbuild/protobuf',
  async run({ note }) {
    const descriptor = criDescriptor();
    const registry = createFileRegistry(descriptor, () => undefined);
    const schema = (name: string): DescMessage => {
      const found = registry.getMessage(name);
      if (found === undefined) throw new Error(`no message ${name}`);
      return found;
    };
    const list = ListContainersResponse.encode(containerList);
    const measures = [
      ...workOf('ListContainers response, 100 containers', ListContainersResponse, list, schema),
      ...workOf(
        'RunPodSandbox request',
        RunPodSandboxRequest,
        RunPodSandboxRequest.encode(sandboxRequest),
        schema,
      ),
    ].map(compare);
    note('messages done; processes begin');
    return [...measures, ...(await processMeasures(list, descriptor))];
  },
};

function workOf<T extends object>(
  name: string,
  type: {
    readonly name: string;
    decode(bytes: Uint8Array): T;
    encode(message: T): Uint8Array;
  },
  bytes: Uint8Array,
  schemaOf: (name: string) => DescMessage,
): Work[] {
  const schema = schemaOf(type.name);
  const our = type.decode(bytes);
  const their = fromBinary(schema, bytes);
  if (!Buffer.from(toBinary(schema, their)).equals(bytes)) throw new Error(`${name}: the codecs disagree`);
  return [
    { name: `${name}: decode`, ours: () => type.decode(bytes), theirs: () => fromBinary(schema, bytes) },
    { name: `${name}: encode`, ours: () => type.encode(our), theirs: () => toBinary(schema, their) },
  ];
}

/** The sides take turns; the least of each counts, as what disturbs a sample makes it dearer and never cheaper. */
function compare({ name, ours, theirs }: Work): Measure {
  const samples = { ours: [] as number[], theirs: [] as number[] };
  const times = { ours: timesFor(ours), theirs: timesFor(theirs) };
  for (let round = 0; round < rounds; round++) {
    samples.ours.push(cpuUs(ours, times.ours));
    samples.theirs.push(cpuUs(theirs, times.theirs));
  }
  const least = { ours: Math.min(...samples.ours), theirs: Math.min(...samples.theirs) };
  return {
    name: `${name}, CPU: ours / theirs`,
    unit: 'ratio',
    value: least.ours / least.theirs,
    samples: samples.ours.map((us, round) => us / (samples.theirs[round] ?? Number.NaN)),
    target: atMost(1.2),
    compared: { unit: 'µs', ...least },
  };
}

/** How often a sample repeats the work; it also has the work compiled. */
function timesFor(work: () => unknown): number {
  const untilMs = performance.now() + 10 * sampleMs;
  let times = 0;
  for (; performance.now() < untilMs; times++) work();
  return Math.max(1, Math.round(times / 10));
}

function cpuUs(work: () => unknown, times: number): number {
  const before = process.cpuUsage();
  for (let time = 0; time < times; time++) work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / times;
}

async function processMeasures(
  message: Buffer,
  descriptor: ReturnType<typeof criDescriptor>,
): Promise<Measure[]> {
  const cleanups = new CleanupStack();
  try {
    const { path: dir } = await createTempDir('bench', { cleanups });
    const emptyPath = path.join(dir, 'empty');
    const listPath = path.join(dir, 'list');
    writeFileSync(emptyPath, '');
    writeFileSync(listPath, message);
    const programs = await buildPrograms(dir, descriptor);
    return [
      ...(await compareProcesses('the codec is loaded', programs, emptyPath)),
      ...(await compareProcesses('one list is read and written', programs, listPath)),
      sizeRatio(programs),
    ];
  } finally {
    await cleanups.run();
  }
}

/** What either codec adds to a Node process that does nothing else, once it has got so far. */
async function compareProcesses(moment: string, programs: Programs, messagePath: string): Promise<Measure[]> {
  const cpuMs = { ours: [] as number[], theirs: [] as number[] };
  const rssMegabytes = { ours: [] as number[], theirs: [] as number[] };
  for (let round = 0; round < startRounds; round++) {
    const bare = await costOf(programs.bare, messagePath);
    for (const side of ['ours', 'theirs'] as const) {
      const cost = await costOf(programs[side], messagePath);
      cpuMs[side].push(cost.startCpuMs - bare.startCpuMs);
      rssMegabytes[side].push(cost.rssMegabytes - bare.rssMegabytes);
    }
  }
  return (['ours', 'theirs'] as const).flatMap((side) => [
    medianOf(`memory (RSS) added when ${moment}: ${side}`, 'MB', rssMegabytes[side]),
    medianOf(`CPU added when ${moment}: ${side}`, 'ms', cpuMs[side]),
  ]);
}

function sizeRatio({ ours, theirs }: Programs): Measure {
  return {
    name: 'size of the program: ours / theirs',
    unit: 'ratio',
    value: ours.sizeBytes / theirs.sizeBytes,
    compared: { unit: 'kB', ours: ours.sizeBytes / 1000, theirs: theirs.sizeBytes / 1000 },
  };
}
