/** The options of a kubelet that are ports: each goes through what stands between the kubelet and the world. */
import type { KubeletOptions, Outside } from '../kubelet/index.js';
import type { SourceName } from '../pods/index.js';
import { criEvents } from '../runtime-manager/pleg/index.js';

/** Options that are one port each, and that are there or not. */
const portOptions = [
  'objects',
  'claims',
  'tokens',
  'serviceAccount',
  'trustBundles',
  'podCertificates',
  'runtimeClasses',
  'hooks',
  'cgroups',
  'mirrors',
  'keyring',
  'services',
  'wasOomKilled',
  'logind',
  'pulls',
] as const satisfies readonly (keyof KubeletOptions)[];

const managerNames = ['oomWatcher', 'packetRules', 'containerManager'] as const;

/** Which options the kubelet was given, so that a replay gives it the same. */
export interface GivenPorts {
  readonly options: readonly string[];
  readonly managers: readonly string[];
  /** How many streams of events; true for the runtime's own, which is read through the runtime. */
  readonly events: readonly boolean[];
  readonly evicts: boolean;
  /** Whether the kubelet worked on the machine that it ran on, with the programs of that machine. */
  readonly isOwnMachine: boolean;
  /** Sources of pods beside those that the configuration names. */
  readonly sources: readonly SourceName[];
}

export function givenPorts(options: KubeletOptions): GivenPorts {
  return {
    options: portOptions.filter((name) => options[name] !== undefined),
    managers: managerNames.filter((name) => options.managers?.[name] !== undefined),
    events: (options.eventSources ?? [criEvents]).map((source) => source === criEvents),
    evicts: options.eviction !== undefined,
    isOwnMachine: options.machine === undefined,
    sources: (options.sources ?? []).map(({ name }) => name),
  };
}

/** The options with every port among them replaced by what `outside` has of its name. */
export function outsideOptions(
  options: KubeletOptions,
  outside: Outside,
  given: GivenPorts = givenPorts(options),
): KubeletOptions {
  const ports = Object.fromEntries(
    portOptions
      .filter((name) => given.options.includes(name))
      .map((name) => [name, outside.port(name, () => made(options[name], name))]),
  );
  const managers = Object.fromEntries(
    managerNames
      .filter((name) => given.managers.includes(name))
      .map((name) => [name, outside.port(`manager ${name}`, () => made(options.managers?.[name], name))]),
  );
  const eventSources = given.events.map(
    (isOwn, index): NonNullable<KubeletOptions['eventSources']>[number] =>
      isOwn
        ? criEvents
        : (cri) => outside.port(`events ${index}`, () => made(options.eventSources?.[index], 'events')(cri)),
  );
  const eviction = given.evicts
    ? {
        eviction: {
          ...options.eviction,
          stats: outside.port('eviction', () => made(options.eviction?.stats, 'eviction')),
        },
      }
    : {};
  return { ...options, ...ports, ...eviction, eventSources, managers: { ...options.managers, ...managers } };
}

function made<T>(port: T | undefined, name: string): T {
  if (port === undefined) throw new Error(`a replay has no port ${name} of its own`);
  return port;
}
