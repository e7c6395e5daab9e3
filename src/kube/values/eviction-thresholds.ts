/** Eviction thresholds: the signals that a node watches, and when each of them is too low, read from the configuration. */
import { goQuote, parseDuration } from './go-format.js';
import { parseQuantity, type Quantity, quantityOf, quantityValue } from './quantity.js';

export const evictionSignals = [
  'memory.available',
  'allocatableMemory.available',
  'nodefs.available',
  'nodefs.inodesFree',
  'imagefs.available',
  'imagefs.inodesFree',
  'containerfs.available',
  'containerfs.inodesFree',
  'pid.available',
] as const;
export type EvictionSignal = (typeof evictionSignals)[number];

/** An amount, or a share of the capacity that the signal is about. */
export type ThresholdValue =
  | { readonly kind: 'quantity'; readonly quantity: Quantity }
  | { readonly kind: 'fraction'; readonly fraction: number };

export interface EvictionThreshold {
  readonly signal: EvictionSignal;
  readonly value: ThresholdValue;
  /** How long the signal must be too low; zero for a hard threshold. */
  readonly graceMs: number;
  /** How far above the threshold the signal must get before the pressure is over. */
  readonly minReclaim?: ThresholdValue;
}

type SignalValues = Readonly<Record<string, string>>;

export interface EvictionThresholdSettings {
  readonly evictionHard: SignalValues;
  readonly evictionSoft: SignalValues;
  readonly evictionSoftGracePeriod: SignalValues;
  readonly evictionMinimumReclaim: SignalValues;
}

export interface ThresholdProblem {
  readonly field: keyof EvictionThresholdSettings;
  readonly text: string;
}

export interface ReadThresholds {
  readonly thresholds: readonly EvictionThreshold[];
  readonly problems: readonly ThresholdProblem[];
}

/** The thresholds in the order of the configuration, hard ones first, and everything that is wrong with them. */
export function readEvictionThresholds(settings: EvictionThresholdSettings): ReadThresholds {
  const problems: ThresholdProblem[] = [];
  const read = <T>(
    field: keyof EvictionThresholdSettings,
    parse: (signal: EvictionSignal, text: string) => T | undefined,
  ): Map<EvictionSignal, T> => {
    const found = new Map<EvictionSignal, T>();
    for (const [signal, text] of Object.entries(settings[field])) {
      try {
        const value = parse(knownSignal(signal), text);
        if (value !== undefined) found.set(knownSignal(signal), value);
      } catch (thrown) {
        problems.push({ field, text: thrown instanceof Error ? thrown.message : String(thrown) });
      }
    }
    return found;
  };
  const hard = read('evictionHard', thresholdValue);
  const soft = read('evictionSoft', thresholdValue);
  const graces = read('evictionSoftGracePeriod', (_signal, text) => gracePeriodMs(text));
  const reclaims = read('evictionMinimumReclaim', minimumReclaim);
  for (const signal of soft.keys()) {
    if (graces.has(signal) || settings.evictionSoftGracePeriod[signal] !== undefined) continue;
    const text = `grace period must be specified for the soft eviction threshold ${signal}`;
    problems.push({ field: 'evictionSoftGracePeriod', text });
  }
  const made = (values: ReadonlyMap<EvictionSignal, ThresholdValue>, isSoft: boolean): EvictionThreshold[] =>
    [...values].map(([signal, value]) => {
      const minReclaim = reclaims.get(signal);
      const graceMs = isSoft ? (graces.get(signal) ?? 0) : 0;
      return { signal, value, graceMs, ...(minReclaim === undefined ? {} : { minReclaim }) };
    });
  return { thresholds: [...made(hard, false), ...made(soft, true)], problems };
}

/** The amount that a value means where there is that much in all. */
export function thresholdQuantity(value: ThresholdValue, capacity: number): Quantity {
  return value.kind === 'quantity'
    ? value.quantity
    : quantityOf(BigInt(Math.trunc(capacity * value.fraction)), 'BinarySI');
}

/** The same in whole units. */
export function thresholdUnits(value: ThresholdValue, capacity: number): number {
  return Number(quantityValue(thresholdQuantity(value, capacity)));
}

/** Undefined for a value that switches its signal off. Throws for one that makes no sense. */
export function thresholdValue(signal: EvictionSignal, text: string): ThresholdValue | undefined {
  if (text === '0%' || text === '100%') return undefined;
  if (text.endsWith('%')) {
    const fraction = fractionOf(text);
    if (fraction < 0) throw new Error(`eviction percentage threshold ${signal} must be >= 0%: ${text}`);
    if (fraction > 1) throw new Error(`eviction percentage threshold ${signal} must be <= 100%: ${text}`);
    return { kind: 'fraction', fraction };
  }
  const quantity = parseQuantity(text);
  if (quantity.nanos <= 0n) throw new Error(`eviction threshold ${signal} must be positive: ${text}`);
  return { kind: 'quantity', quantity };
}

function minimumReclaim(signal: EvictionSignal, text: string): ThresholdValue {
  if (text.endsWith('%')) {
    const fraction = fractionOf(text);
    if (fraction <= 0) {
      throw new Error(`eviction percentage minimum reclaim ${signal} must be positive: ${text}`);
    }
    return { kind: 'fraction', fraction };
  }
  const quantity = parseQuantity(text);
  if (quantity.nanos < 0n) throw new Error(`negative eviction minimum reclaim specified for ${signal}`);
  return { kind: 'quantity', quantity };
}

function gracePeriodMs(text: string): number {
  const graceMs = parseDuration(text);
  if (graceMs < 0) {
    throw new Error(`invalid eviction grace period specified: ${text}, must be a positive value`);
  }
  return graceMs;
}

function knownSignal(name: string): EvictionSignal {
  const signal = evictionSignals.find((one) => one === name);
  if (signal === undefined) throw new Error(`unsupported eviction signal ${name}`);
  return signal;
}

/** Kubernetes uses single precision for the share; the same rounding yields the same bytes. */
function fractionOf(text: string): number {
  const digits = text.slice(0, -1);
  if (!/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?$/.test(digits)) {
    throw new Error(`strconv.ParseFloat: parsing ${goQuote(digits)}: invalid syntax`);
  }
  return Math.fround(Math.fround(Number(digits)) / 100);
}
