/** `nodelet get`: lists pods as `kubectl get` does. */
import { bool, type FlagValues, nearestName, string } from '../flags/index.js';
import type { Pod } from '../kube/types/index.js';
import type { PodWatchEvent } from '../server/watch.js';
import { type CommandSpec, namespaceFlag, runCommand, runFlags } from './client/command.js';
import { type Connection, connectTo, requestLines } from './client/connection.js';
import { choosePod, listPods, podWords } from './client/pods.js';
import { UsageError } from './client/usage-error.js';
import {
  jsonText,
  nameText,
  type OutputFormat,
  outputFormats,
  podObject,
  yamlText,
} from './print/objects.js';
import { podTableHeader, podTableRow } from './print/pod-table.js';
import { type LabelMatcher, parseSelector } from './print/selector.js';
import { columnWidths, formatRows, formatTable } from './print/table.js';

const flags = {
  ...namespaceFlag,
  'all-namespaces': { type: bool, shorthand: 'A', about: 'list pods of all namespaces' },
  output: {
    type: string,
    shorthand: 'o',
    valueName: 'FORMAT',
    choices: outputFormats,
    about: 'output format: json, yaml, wide or name',
  },
  watch: { type: bool, shorthand: 'w', about: 'keep printing changes until Ctrl-C' },
  selector: {
    type: string,
    shorthand: 'l',
    valueName: 'SELECTOR',
    about: 'list only pods with these labels, as in app=web,tier!=db',
  },
  'show-labels': { type: bool, about: 'add a column with labels' },
  'no-headers': { type: bool, about: 'do not print the header line' },
  ...runFlags,
} as const;

export const getSpec: CommandSpec<typeof flags> = {
  name: 'get',
  about: 'Lists the pods of a run, with the flags and output of kubectl get.',
  synopsis: ['[pods] [NAME…] [flags]', 'pod NAME [flags]'],
  flags,
  examples: [
    ['nodelet get pods', 'list the pods of the default namespace'],
    ['nodelet get pods -A -o wide', 'list all pods, with their IP addresses'],
    ['nodelet get pod web -o yaml', 'print one pod in full'],
    ['nodelet get pods -l app=web -w', 'list pods with a label, then print their changes'],
  ],
};

export function runGet(argv: readonly string[]): Promise<number> {
  return runCommand(getSpec, argv, async ({ values, positionals }) => {
    const request = getRequest(values, positionals);
    const connection = await connectTo(values);
    return request.watch ? watch(connection, request) : once(connection, request);
  });
}

export interface GetRequest {
  /** Empty: all pods. */
  readonly names: readonly string[];
  /** Undefined: all namespaces. */
  readonly namespace: string | undefined;
  readonly namespaceGiven: boolean;
  readonly format: OutputFormat | undefined;
  readonly matches: LabelMatcher;
  readonly watch: boolean;
  readonly showLabels: boolean;
  readonly headers: boolean;
}

/** Kinds that kubectl has and a run does not. `get pod NAME` finds a pod with such a name. */
const otherKinds =
  /^(all|nodes?|no|services?|svc|deployments?|deploy|statefulsets?|sts|daemonsets?|ds|replicasets?|rs|jobs?|cronjobs?|configmaps?|cm|secrets?|events?|ev|namespaces?|ns|persistentvolumes?|pv|persistentvolumeclaims?|pvc)$/;

export function getRequest(values: FlagValues<typeof flags>, positionals: readonly string[]): GetRequest {
  const [first, ...others] = positionals;
  // The kind is optional: pods are the only one.
  const names = first === undefined ? [] : podWords.has(first) ? others : positionals;
  if (first !== undefined && otherKinds.test(first))
    throw new UsageError(`only pods can be shown, not ${first}: nodelet get pods`);
  if (names.length > 0 && values['all-namespaces'])
    throw new UsageError('a pod cannot be named with -A: remove -A, or name the namespace with -n');
  if (names.length > 0 && values.selector !== undefined)
    throw new UsageError('name cannot be provided when a selector is specified');
  return {
    names,
    namespace: values['all-namespaces']
      ? undefined
      : (values.namespace ?? (names.length > 0 ? undefined : 'default')),
    namespaceGiven: values.namespace !== undefined,
    format: outputFormat(values.output),
    matches: parseSelector(values.selector ?? ''),
    watch: values.watch,
    showLabels: values['show-labels'],
    headers: !values['no-headers'],
  };
}

function outputFormat(given: string | undefined): OutputFormat | undefined {
  if (given === undefined || given === '') return undefined;
  const known = outputFormats.find((format) => format === given);
  if (known !== undefined) return known;
  const near = nearestName(given, outputFormats);
  throw new UsageError(
    `unable to match a printer suitable for the output format ${JSON.stringify(given)}, allowed formats are: ${outputFormats.join(',')}${near === undefined ? '' : `; did you mean ${near}?`}`,
  );
}

async function once(connection: Connection, request: GetRequest): Promise<number> {
  const all = await listPods(connection);
  const { names, namespace, format } = request;
  const pods =
    names.length > 0
      ? names.map((name) => choosePod(all, { name, namespace }))
      : all.filter((pod) => isWanted(pod, request)).sort(byName);
  if (format === 'json' || format === 'yaml') {
    const object = podObject(pods, names.length === 1);
    process.stdout.write(format === 'json' ? jsonText(object) : await yamlText(object));
  } else if (format === 'name') {
    process.stdout.write(nameText(pods));
  } else if (pods.length === 0) {
    process.stderr.write(nothingFound(request, all.length));
  } else {
    const options = tableOptions(request);
    const nowMs = Date.now();
    const rows = pods.map((pod) => podTableRow(pod, nowMs, options));
    process.stdout.write(formatTable(request.headers ? podTableHeader(options) : undefined, rows));
  }
  return 0;
}

async function watch(connection: Connection, request: GetRequest): Promise<number> {
  const { names, namespace, format } = request;
  const chosen = new Set<string>();
  if (names.length > 0) {
    const all = await listPods(connection);
    for (const name of names) chosen.add(choosePod(all, { name, namespace }).metadata.uid);
  }
  const options = tableOptions(request);
  const isShown = (pod: Pod): boolean =>
    chosen.size > 0 ? chosen.has(pod.metadata.uid) : isWanted(pod, request);
  const isTable = format === undefined || format === 'wide';
  const listed = isTable ? (await listPods(connection)).filter(isShown).sort(byName) : [];
  // The watch starts with the pods that were just listed; do not print them twice.
  const printed = new Map(listed.map((pod) => [pod.metadata.uid, contentOf(pod)]));
  let header = request.headers ? podTableHeader(options) : undefined;
  let widths: number[] | undefined;
  const show = (pods: readonly Pod[]): void => {
    const rows = pods.map((pod) => podTableRow(pod, Date.now(), options));
    if (rows.length === 0) return;
    widths ??= columnWidths(header, rows);
    process.stdout.write(formatRows(header === undefined ? rows : [header, ...rows], widths));
    header = undefined;
  };
  show(listed);
  for await (const { object: pod } of requestLines<PodWatchEvent>(connection, '/watch')) {
    if (!isShown(pod)) continue;
    const before = printed.get(pod.metadata.uid);
    printed.delete(pod.metadata.uid);
    if (before !== undefined && before === contentOf(pod)) continue;
    if (format === 'json') process.stdout.write(jsonText(podObject([pod], true)));
    else if (format === 'yaml') process.stdout.write(`---\n${await yamlText(podObject([pod], true))}`);
    else if (format === 'name') process.stdout.write(nameText([pod]));
    else show([pod]);
  }
  process.stderr.write('the run has ended\n');
  return 0;
}

function contentOf({ metadata, spec, status }: Pod): string {
  return JSON.stringify([metadata, spec, status]);
}

function tableOptions({ format, namespace, names, showLabels }: GetRequest) {
  return {
    wide: format === 'wide',
    allNamespaces: namespace === undefined && names.length === 0,
    showLabels,
  };
}

function isWanted({ metadata }: Pod, { namespace, matches }: GetRequest): boolean {
  return (namespace === undefined || metadata.namespace === namespace) && matches(metadata.labels ?? {});
}

function byName(a: Pod, b: Pod): number {
  const [left, right] = [a, b].map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
  return (left ?? '') < (right ?? '') ? -1 : 1;
}

function nothingFound({ namespace, namespaceGiven }: GetRequest, elsewhere: number): string {
  if (namespace === undefined) return 'No resources found\n';
  const hint = elsewhere > 0 && !namespaceGiven ? ` (-A shows ${elsewhere} in other namespaces)` : '';
  return `No resources found in ${namespace} namespace.${hint}\n`;
}
