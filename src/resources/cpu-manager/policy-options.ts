/** Reads the policy of the CPU manager and its options; what is wrong is told in the words that operators can look up. */
import type { CpuTopology } from './cpu-topology.js';
import type { TakeOptions } from './take-cpus.js';

/** Settings that no start can be made with; the message begins with the field. */
export class CpuManagerConfigError extends Error {
  override readonly name = 'CpuManagerConfigError';
  /** Without the field. */
  readonly text: string;

  constructor(field: CpuManagerField, text: string) {
    super(`${fields[field]}: ${text}`);
    this.text = text;
  }
}

const fields = {
  policy: 'cpuManagerPolicy (--cpu-manager-policy)',
  options: 'cpuManagerPolicyOptions (--cpu-manager-policy-options)',
  reserved: 'systemReserved.cpu, kubeReserved.cpu or reservedSystemCPUs (--reserved-cpus)',
};
export type CpuManagerField = keyof typeof fields;

export interface StaticPolicyOptions extends TakeOptions {
  /** The shared pool leaves the reserved CPUs alone. */
  readonly strictReservation: boolean;
}

export interface CpuManagerGates {
  readonly alphaOptions: boolean;
  readonly betaOptions: boolean;
}

type OptionStage = 'stable' | 'Beta' | 'Alpha';

const known: ReadonlyMap<string, readonly [option: keyof StaticPolicyOptions, stage: OptionStage]> = new Map([
  ['full-pcpus-only', ['fullPcpusOnly', 'stable']],
  ['strict-cpu-reservation', ['strictReservation', 'stable']],
  ['prefer-align-cpus-by-uncorecache', ['byUncoreCache', 'stable']],
  ['distribute-cpus-across-numa', ['acrossNuma', 'Beta']],
  ['align-by-socket', ['alignBySocket', 'Alpha']],
  ['distribute-cpus-across-cores', ['acrossCores', 'Alpha']],
]);

/** In the order in which they are looked for. */
const conflicts: readonly (readonly [string, string])[] = [
  ['full-pcpus-only', 'distribute-cpus-across-cores'],
  ['distribute-cpus-across-numa', 'distribute-cpus-across-cores'],
  ['prefer-align-cpus-by-uncorecache', 'distribute-cpus-across-cores'],
  ['prefer-align-cpus-by-uncorecache', 'distribute-cpus-across-numa'],
];

const truths: ReadonlyMap<string, boolean> = new Map([
  ...['1', 't', 'T', 'TRUE', 'true', 'True'].map((text) => [text, true] as const),
  ...['0', 'f', 'F', 'FALSE', 'false', 'False'].map((text) => [text, false] as const),
]);

/** Throws a `CpuManagerConfigError`: policy `none` has no options. */
export function refuseOptions(given: Readonly<Record<string, string>>): void {
  const options = sortedOptions(given).map(([name, value]) => `${name}:${value}`);
  if (options.length === 0) return;
  throw new CpuManagerConfigError(
    'options',
    `new none policy error: None policy: received unsupported options=map[${options.join(' ')}]`,
  );
}

/** Throws a `CpuManagerConfigError` for the first option, by name, that is wrong, then for the first conflict. */
export function readStaticPolicyOptions(
  given: Readonly<Record<string, string>>,
  gates: CpuManagerGates,
): StaticPolicyOptions {
  const options = {
    fullPcpusOnly: false,
    strictReservation: false,
    byUncoreCache: false,
    acrossNuma: false,
    alignBySocket: false,
    acrossCores: false,
  };
  for (const [name, text] of sortedOptions(given)) {
    const [option, stage] = known.get(name) ?? [];
    if (option === undefined) throw wrong(`unknown CPU Manager Policy option: "${name}"`);
    if ((stage === 'Alpha' && !gates.alphaOptions) || (stage === 'Beta' && !gates.betaOptions))
      throw wrong(`CPU Manager Policy ${stage}-level Options not enabled, but option "${name}" provided`);
    const value = truths.get(text);
    if (value === undefined)
      throw wrong(`bad value for option "${name}": strconv.ParseBool: parsing "${text}": invalid syntax`);
    options[option] = value;
  }
  for (const [first, second] of conflicts) {
    if (isOn(options, first) && isOn(options, second))
      throw wrong(`static policy options ${first} and ${second} can not be used at the same time`);
  }
  return options;
}

/** Throws a `CpuManagerConfigError` if the topology manager or the machine rules the options out. */
export function checkSocketAlignment(
  { alignBySocket }: StaticPolicyOptions,
  topology: CpuTopology,
  topologyPolicy: string,
): void {
  if (!alignBySocket) return;
  if (topologyPolicy === 'single-numa-node') {
    // Users search for this text as the reference spells it.
    throw wrong(
      'Topolgy manager single-numa-node policy is incompatible with CPUManager align-by-socket policy option',
    );
  }
  if (topology.socketCount > topology.numaNodes.size) {
    throw wrong(
      'Align by socket is not compatible with hardware where number of sockets are more than number of NUMA',
    );
  }
}

function isOn(options: StaticPolicyOptions, name: string): boolean {
  const [option] = known.get(name) ?? [];
  return option !== undefined && options[option];
}

function sortedOptions(given: Readonly<Record<string, string>>): readonly (readonly [string, string])[] {
  return Object.entries(given).sort(([a], [b]) => (a < b ? -1 : 1));
}

function wrong(text: string): CpuManagerConfigError {
  return new CpuManagerConfigError('options', `new static policy error: ${text}`);
}
