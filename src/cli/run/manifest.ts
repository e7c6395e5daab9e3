/** Reads the pods of a manifest and the objects they use. A problem in one document does not stop the others. */
import { editDistance, nearestName } from '../../flags/index.js';
import {
  applyPodDefaults,
  commandLimits,
  type DocumentLimits,
  decodePods,
  InvalidManifest,
  type Mapping,
  type PodManifest,
  type Problem,
  parseSource,
  type SourceDocument,
  type StandaloneObjectKind,
  SyntaxProblem,
  validatePod,
} from '../../kube/index.js';
import type { NamedPod } from './local-pod.js';
import {
  belowPlace,
  documentAt,
  isMapping,
  type ManifestLocation,
  mappingIn,
  namespaceIn,
  placeAt,
  problemOf,
  readBelow,
  refuse,
} from './manifest-location.js';
import { addObject, type ManifestObjects, noObjects, objectKinds } from './manifest-objects.js';
import {
  type JobParallelism,
  nameHash,
  type WorkloadKind,
  workloadPods,
  workloadVersions,
} from './workload-pods.js';

/** A pod with all defaults; it gets its identity on this machine later. */
export interface ManifestPod {
  readonly pod: NamedPod;
  /** The place that it fills, such as `Deployment default/web 0`. */
  readonly slot: string;
  readonly job?: JobParallelism;
  /** `web.yaml:3` */
  readonly origin: string;
  /** Where its name stands, for messages. */
  readonly named: Omit<Problem, 'message'>;
}

export interface ManifestContent {
  readonly pods: ManifestPod[];
  readonly objects: ManifestObjects;
  /** Objects such as `Service web`, whose kinds have no meaning on one machine. */
  readonly ignored: string[];
  readonly warnings: Problem[];
  /** Why documents cannot be used. */
  readonly problems: Problem[];
}

export function emptyContent(): ManifestContent {
  return { pods: [], objects: noObjects(), ignored: [], warnings: [], problems: [] };
}

/** Adds the objects of the text to the content. */
export function readManifestText(
  text: string,
  file: string,
  content: ManifestContent,
  limits: DocumentLimits = commandLimits,
): void {
  let documents: SourceDocument[];
  try {
    documents = parseSource(text, file, limits);
  } catch (error) {
    if (!(error instanceof SyntaxProblem)) throw error;
    content.problems.push(error.problem);
    return;
  }
  if (documents.length === 0)
    content.problems.push({
      file,
      line: 0,
      column: 0,
      field: '',
      message: 'it is empty; write a Pod into it',
    });
  for (const document of documents) {
    for (const { key, line, column } of document.duplicateKeys) {
      const message = `"${key}" is given more than once here and the last one counts; remove the others`;
      content.warnings.push({ file, line, column, field: key, message });
    }
    readObject(document.value, { document, path: [] }, content);
  }
}

function readObject(
  value: unknown,
  place: ManifestLocation,
  content: ManifestContent,
  itemKind?: string,
): void {
  try {
    if (!isMapping(value)) refuse(place, 'expected an object; begin with "apiVersion:" and "kind:"');
    const kind = value.kind ?? itemKind;
    if (typeof kind !== 'string' || kind === '')
      refuse(placeAt(place, 'kind'), 'is missing; add for example "kind: Pod"');
    readKind(kind, value, place, content);
  } catch (error) {
    if (!(error instanceof InvalidManifest)) throw error;
    content.problems.push(...error.problems);
  }
}

function readKind(kind: string, value: Mapping, place: ManifestLocation, content: ManifestContent): void {
  if (kind.endsWith('List')) {
    readList(value, place, content, kind.slice(0, -'List'.length));
  } else if (kind === 'Pod') {
    readPod(value, place, content);
  } else if (isWorkloadKind(kind)) {
    checkVersion(value, place, workloadVersions[kind]);
    const { pods, warnings, claims } = workloadPods(kind, value, place);
    content.warnings.push(...warnings);
    const templatePlace = placeAt(place, 'spec', 'template');
    const [first] = pods;
    // All pods have the same template, so one check is enough.
    if (first !== undefined) checkPod(structuredClone(first.pod), templatePlace);
    for (const { pod, slot, job } of pods)
      addPod({ pod: applyPodDefaults(pod), slot, ...(job === undefined ? {} : { job }) }, place, content);
    for (const claim of claims) addObject(content.objects, 'PersistentVolumeClaim', claim, place);
  } else if (isObjectKind(kind)) {
    checkVersion(value, place, 'v1');
    content.warnings.push(...addObject(content.objects, kind, value, place));
  } else if (kind === 'CronJob') {
    refuse(
      placeAt(place, 'kind'),
      'a CronJob is started by a schedule, which nobody keeps here; give its spec.jobTemplate as a "kind: Job" instead',
    );
  } else {
    const meant = misspelledKind(kind);
    if (meant !== undefined) refuse(placeAt(place, 'kind'), `"${kind}" is unknown; did you mean ${meant}?`);
    const { name } = mappingIn(value, place, 'metadata');
    content.ignored.push(typeof name === 'string' ? `${kind} ${name}` : kind);
  }
}

function readList(value: Mapping, place: ManifestLocation, content: ManifestContent, itemKind: string): void {
  const items = value.items ?? [];
  if (!Array.isArray(items)) refuse(placeAt(place, 'items'), 'expected a list; begin each entry with "- "');
  for (const [index, item] of items.entries())
    readObject(item, placeAt(place, 'items', index), content, itemKind);
}

function readPod(value: Mapping, place: ManifestLocation, content: ManifestContent): void {
  checkVersion(value, place, 'v1');
  const named = withGeneratedName(value, place);
  const { pod, warnings } = readBelow(place, () => {
    const decoded = decodePods(documentAt(place, { ...named, apiVersion: 'v1', kind: 'Pod' }));
    const [first] = decoded.pods;
    return { pod: first ?? refuse(place, 'expected a Pod'), warnings: decoded.warnings };
  });
  const { name } = pod.metadata;
  if (!name) refuse(placeAt(place, 'metadata', 'name'), 'a Pod needs a name; add for example "name: web"');
  content.warnings.push(...warnings.map((warning) => belowPlace(place, warning)));
  const whole = { ...pod, metadata: { ...pod.metadata, name, namespace: namespaceIn(value, place) } };
  checkPod(whole, place);
  addPod({ pod: whole, slot: `Pod ${whole.metadata.namespace}/${name}` }, place, content);
}

/** Gives a pod with `generateName` a name that is the same in every run. */
function withGeneratedName(value: Mapping, place: ManifestLocation): Mapping {
  const metadata = mappingIn(value, place, 'metadata');
  if (metadata.name || typeof metadata.generateName !== 'string' || metadata.generateName === '')
    return value;
  const name = `${metadata.generateName}${nameHash(value.spec).slice(0, 5)}`;
  return { ...value, metadata: { ...metadata, name } };
}

/** Applies defaults. Throws an InvalidManifest with all problems. */
function checkPod(pod: PodManifest, place: ManifestLocation): void {
  applyPodDefaults(pod);
  const { nodeName: _, ...spec } = pod.spec;
  const errors = validatePod({ ...pod, spec });
  if (errors.length === 0) return;
  throw new InvalidManifest(
    errors.map(({ path, message }) => problemOf(placeAt(place, ...path), `invalid pod: ${message}`)),
  );
}

function addPod(
  added: Omit<ManifestPod, 'origin' | 'named'>,
  place: ManifestLocation,
  content: ManifestContent,
): void {
  const { line = 1 } = place.document.locate(place.path) ?? {};
  const { message: _, ...named } = problemOf(placeAt(place, 'metadata', 'name'), '');
  const pod = { ...added, origin: `${place.document.file}:${line}`, named };
  const twin = twinProblem(pod, content.pods);
  if (twin !== undefined) throw new InvalidManifest([twin]);
  content.pods.push(pod);
}

/** What is wrong with a pod whose name another one has; undefined if none has. */
function twinProblem({ pod, named }: ManifestPod, others: readonly ManifestPod[]): Problem | undefined {
  const { namespace, name } = pod.metadata;
  const same = others.find(
    ({ pod: { metadata } }) => metadata.name === name && metadata.namespace === namespace,
  );
  if (same === undefined) return undefined;
  const message = `pod ${namespace}/${name} is also defined at ${same.origin}, which counts; give one of them another name`;
  return { ...named, message };
}

/** The contents of several files as one; of pods with one name, the first counts. */
export function mergedContent(contents: readonly ManifestContent[]): ManifestContent {
  const merged = emptyContent();
  const byName = new Map<string, ManifestPod>();
  for (const { pods, objects, ignored, warnings, problems } of contents) {
    merged.problems.push(...problems);
    merged.warnings.push(...warnings);
    merged.ignored.push(...ignored);
    merged.objects.configMaps.push(...objects.configMaps);
    merged.objects.secrets.push(...objects.secrets);
    merged.objects.persistentVolumes.push(...objects.persistentVolumes);
    merged.objects.persistentVolumeClaims.push(...objects.persistentVolumeClaims);
    for (const pod of pods) {
      const { namespace, name } = pod.pod.metadata;
      const other = byName.get(`${namespace}/${name}`);
      const twin = other && twinProblem(pod, [other]);
      if (twin !== undefined) {
        merged.problems.push(twin);
        continue;
      }
      byName.set(`${namespace}/${name}`, pod);
      merged.pods.push(pod);
    }
  }
  return merged;
}

function checkVersion(value: Mapping, place: ManifestLocation, wanted: string): void {
  const { apiVersion } = value;
  // The items of a list need not repeat the version.
  if (apiVersion === wanted || (apiVersion === undefined && place.path.length > 0)) return;
  const found = apiVersion === undefined ? 'is missing; add' : `is ${JSON.stringify(apiVersion)}; write`;
  refuse(placeAt(place, 'apiVersion'), `${found} "apiVersion: ${wanted}"`);
}

const usedKinds = ['Pod', 'List', 'PodList', ...Object.keys(workloadVersions), ...objectKinds];

/** Finds the used kind that differs only by case or one letter. All other kinds are valid elsewhere. */
function misspelledKind(kind: string): string | undefined {
  const near = nearestName(kind, usedKinds);
  return near !== undefined && editDistance(kind.toLowerCase(), near.toLowerCase()) <= 1 ? near : undefined;
}

function isWorkloadKind(kind: string): kind is WorkloadKind {
  return Object.hasOwn(workloadVersions, kind);
}

function isObjectKind(kind: string): kind is StandaloneObjectKind {
  return objectKinds.has(kind);
}
