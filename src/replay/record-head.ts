/** The first line of a record: what the kubelet was made from, so far as it is no port. */
import { type FeatureGates, type KubeletConfiguration, resolveFeatureGates } from '../config/index.js';
import type { ClusterOptions } from '../kubelet/cluster/create-cluster-kubelet.js';
import type { KubeletOptions } from '../kubelet/index.js';
import { defaultStartsAtOnce } from '../kubelet/index.js';
import { type GivenPorts, givenPorts } from './outside-options.js';
import { recordVersion } from './record-file.js';
import { RecordProblem } from './record-problem.js';
import { fromJson, toJson } from './values.js';

/** Options that are data. */
const dataOptions = [
  'nodeName',
  'runtimeEndsCalls',
  'rootDir',
  'nodeIps',
  'host',
  'hostIps',
  'startsAtOnce',
  'deadContainers',
  'containerLogsDir',
  'podDirectories',
  'credentialProviders',
  'standalone',
  'namesShortage',
] as const satisfies readonly (keyof KubeletOptions)[];

type DataOptions = Pick<KubeletOptions, (typeof dataOptions)[number]>;

/** What of a cluster is data. */
export type RecordedCluster = Pick<
  ClusterOptions,
  'flags' | 'kubeletVersion' | 'declaredFeatures' | 'processStartMs' | 'network'
>;

export interface RecordHead {
  /** Of the agent that recorded. */
  readonly agentVersion: string;
  readonly startedMs: number;
  readonly seed: string;
  readonly ports: GivenPorts;
  readonly options: DataOptions & {
    readonly config: KubeletConfiguration | undefined;
    readonly devicePlugins: { readonly directory: string; readonly waitMs?: number } | undefined;
    readonly eviction: { readonly boundsAllocatable?: boolean; readonly evicts?: boolean } | undefined;
  };
  /** Undefined for a node without a cluster. */
  readonly cluster: RecordedCluster | undefined;
}

export function recordHead(
  options: KubeletOptions,
  cluster: RecordedCluster | undefined,
  facts: Pick<RecordHead, 'agentVersion' | 'startedMs' | 'seed'>,
): RecordHead {
  const { config, devicePlugins, eviction, startsAtOnce = defaultStartsAtOnce() } = options;
  // The names are those of the options' data.
  const data = Object.fromEntries(dataOptions.map((name) => [name, options[name]])) as unknown as DataOptions;
  return {
    ...facts,
    ports: givenPorts(options),
    options: {
      ...data,
      startsAtOnce,
      config: config === undefined ? undefined : withoutSecrets(config),
      devicePlugins: devicePlugins && {
        directory: devicePlugins.directory,
        ...(devicePlugins.waitMs === undefined ? {} : { waitMs: devicePlugins.waitMs }),
      },
      eviction: eviction && {
        ...(eviction.boundsAllocatable === undefined
          ? {}
          : { boundsAllocatable: eviction.boundsAllocatable }),
        ...(eviction.evicts === undefined ? {} : { evicts: eviction.evicts }),
      },
    },
    cluster: cluster && {
      flags: cluster.flags,
      kubeletVersion: cluster.kubeletVersion,
      ...(cluster.declaredFeatures && { declaredFeatures: cluster.declaredFeatures }),
      // It is a port; that there is one is all that counts.
      ...(cluster.network && { network: {} as NonNullable<RecordedCluster['network']> }),
      ...(cluster.processStartMs && { processStartMs: cluster.processStartMs }),
    },
  };
}

/** Headers of the manifest's URL may carry a password; the kubelet decides nothing by them. */
function withoutSecrets(config: Partial<KubeletConfiguration>): KubeletConfiguration {
  const headers = Object.keys(config.staticPodURLHeader ?? {});
  // What is left out has its default in a replay, too.
  return {
    ...config,
    staticPodURL: withoutUser(config.staticPodURL ?? ''),
    staticPodURLHeader: Object.fromEntries(headers.map((name) => [name, ['masked']])),
  } as KubeletConfiguration;
}

/** A URL may carry a name and a password, and a token behind its question mark. */
function withoutUser(url: string): string {
  if (url === '') return '';
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}

export function headLine(head: RecordHead): string {
  return JSON.stringify({ k: 'head', version: recordVersion, v: toJson(head) });
}

/** The head of a record's first line. */
export function readHead(line: string): RecordHead {
  const head = fromJson(headJson(line));
  if (typeof head !== 'object' || head === null)
    throw new RecordProblem('the head of the record is no object');
  // Each field that is used to make a kubelet is checked below, or by the kubelet.
  const read = head as Partial<RecordHead>;
  const { options, ports, seed } = read;
  if (typeof seed !== 'string') throw wrong('seed');
  if (typeof options !== 'object' || options === null) throw wrong('options');
  if (typeof options.nodeName !== 'string') throw wrong('options.nodeName');
  if (typeof options.rootDir !== 'string') throw wrong('options.rootDir');
  if (typeof ports !== 'object' || ports === null) throw wrong('ports');
  for (const list of [ports.options, ports.managers, ports.events, ports.sources])
    if (!Array.isArray(list)) throw wrong('ports');
  return {
    agentVersion: String(read.agentVersion),
    startedMs: Number(read.startedMs),
    seed,
    ports,
    options,
    cluster: read.cluster,
  };
}

function headJson(line: string): unknown {
  try {
    const parsed: unknown = JSON.parse(line);
    if (
      typeof parsed === 'object' &&
      parsed !== null &&
      'k' in parsed &&
      parsed.k === 'head' &&
      'v' in parsed
    )
      return parsed.v;
  } catch {
    // The error is the same as for any other line.
  }
  throw new RecordProblem('the record does not begin with its head; its beginning is missing');
}

function wrong(field: string): RecordProblem {
  return new RecordProblem(`the head of the record has no ${field} that a kubelet could have`);
}

/** The gates that the recorded configuration names. */
export function gatesOf(head: RecordHead): FeatureGates {
  return resolveFeatureGates(head.options.config?.featureGates ?? {}).gates;
}
