/** The fields of a node profile, checked one by one: the same for flags and for files. */
import { labelKeyProblems, labelValueProblems } from '../../config/index.js';
import { parseQuantity, type Taint } from '../../kube/index.js';
import type { NodeProfile } from '../node/profile.js';

/** A value cannot be used; the message says what to write. */
export class ProfileProblem extends Error {
  override readonly name = 'ProfileProblem';
  /** Where in the value: `['key']` of a taint. */
  readonly at: readonly (string | number)[];

  constructor(message: string, at: readonly (string | number)[] = []) {
    super(message);
    this.at = at;
  }
}

const mostCpus = 100_000;
const mostBytes = 2 ** 52;
const mostPods = 100_000;
const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];
const architectures = ['amd64', 'arm64', 'ppc64le', 's390x', 'riscv64'];

type ReadProfileField<T> = (value: unknown) => T;

/** By the name of the field in a file; each throws a ProfileProblem. */
export const profileReaders = {
  cpu: (value) => amount(value, 'a whole number of CPUs such as 32', mostCpus),
  memory: (value) => amount(value, 'an amount of memory such as 64Gi', mostBytes),
  ephemeralStorage: (value) => amount(value, 'an amount of disk such as 500Gi', mostBytes),
  pods: (value) => amount(value, 'a whole number of pods such as 110', mostPods),
  architecture: (value) => {
    if (typeof value === 'string' && architectures.includes(value)) return value;
    throw new ProfileProblem(`${shown(value)} is no architecture; write ${architectures.join(', ')}`);
  },
  labels,
  taints,
} as const satisfies Record<string, ReadProfileField<unknown>>;

export type ProfileField = keyof typeof profileReaders;

/** The field of a profile that a field of a file is. */
export const profileKeys: Readonly<Record<ProfileField, keyof NodeProfile>> = {
  cpu: 'cpus',
  memory: 'memoryBytes',
  ephemeralStorage: 'ephemeralStorageBytes',
  pods: 'pods',
  architecture: 'architecture',
  labels: 'labels',
  taints: 'taints',
};

/** A whole number of at least one, as a number or a quantity. */
export function amount(value: unknown, wanted: string, most: number): number {
  if (typeof value !== 'string' && typeof value !== 'number')
    throw new ProfileProblem(`${shown(value)} is not ${wanted}`);
  let number: number;
  try {
    number = Number(parseQuantity(value).nanos) / 1e9;
  } catch {
    throw new ProfileProblem(`${shown(value)} is not ${wanted}`);
  }
  if (!Number.isInteger(number) || number < 1) throw new ProfileProblem(`${shown(value)} is not ${wanted}`);
  if (number > most) throw new ProfileProblem(`${shown(value)} is more than ${most}`);
  return number;
}

function labels(value: unknown): Readonly<Record<string, string>> {
  if (!isMapping(value)) throw new ProfileProblem(`${shown(value)} is not a mapping of labels to values`);
  const read: Record<string, string> = {};
  for (const [key, given] of Object.entries(value)) {
    if (typeof given !== 'string')
      throw new ProfileProblem(`${shown(given)} is not a text; put it in quotes`, [key]);
    const [problem] = [...labelKeyProblems(key), ...labelValueProblems(given)];
    if (problem !== undefined) throw new ProfileProblem(`${shown(given)}: ${problem}`, [key]);
    read[key] = given;
  }
  return read;
}

function taints(value: unknown): readonly Taint[] {
  if (!Array.isArray(value)) throw new ProfileProblem(`${shown(value)} is not a list of taints`);
  return value.map((one: unknown, index): Taint => {
    const fail = (message: string, field?: string): never => {
      throw new ProfileProblem(message, field === undefined ? [index] : [index, field]);
    };
    if (!isMapping(one)) return fail('a taint has key, value and effect');
    const { key, value: text = '', effect, ...more } = one;
    const [unknown] = Object.keys(more);
    if (unknown !== undefined) return fail(`unknown field; a taint has key, value and effect`, unknown);
    if (typeof key !== 'string') return fail('a taint has a key', 'key');
    if (typeof text !== 'string') return fail(`${shown(text)} is not a text; put it in quotes`, 'value');
    if (typeof effect !== 'string' || !effects.includes(effect))
      return fail(`${shown(effect)} is no effect; write ${effects.join(', ')}`, 'effect');
    const [keyProblem] = labelKeyProblems(key);
    if (keyProblem !== undefined) return fail(keyProblem, 'key');
    const [valueProblem] = labelValueProblems(text);
    if (valueProblem !== undefined) return fail(valueProblem, 'value');
    return { key, effect, ...(text === '' ? {} : { value: text }) };
  });
}

export function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Short enough for one line of an error. */
export function shown(value: unknown): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}
