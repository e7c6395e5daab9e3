/** Turns a manifest into the pod that this node runs, with its own name and UID. */
import {
  applyPodDefaults,
  configHashAnnotation,
  configMirrorAnnotation,
  decodePods,
  formatProblem,
  hashStaticPod,
  InvalidManifest,
  type Pod,
  type PodManifest,
  type PodSpec,
  type Problem,
  parseSource,
  problemAt,
  type SourceDocument,
  someProblems,
  staticPodReferences,
  type Toleration,
  validatePod,
  withBuiltInPriority,
} from '../../kube/index.js';

/** A manifest's origin, which is part of the pod's UID. */
export type ManifestOrigin =
  | { readonly kind: 'file'; readonly path: string }
  | {
      readonly kind: 'http';
      readonly url: string;
      /** The URL without its secret parts, for messages. */
      readonly shown: string;
    };

export interface StaticPodContext {
  readonly nodeName: string;
  /** Rejects pods that name API objects. */
  readonly refuseApiReferences: boolean;
  /** Told what users may want to know of a manifest that is fine; the same text again and again. */
  readonly onNotice?: (text: string) => void;
}

export interface ReadManifest {
  readonly pods: readonly Pod[];
  /** What was ignored, one line each. */
  readonly warnings: readonly string[];
}

/** Parses a manifest. A file contains exactly one pod; over HTTP a list will do. Throws InvalidManifest. */
export function readManifest(text: string, origin: ManifestOrigin, context: StaticPodContext): ReadManifest {
  const name = origin.kind === 'file' ? origin.path : origin.shown;
  const documents = parseSource(text, name);
  const [document, second] = documents;
  if (document === undefined) throw problem(name, 'it is empty; a manifest contains one Pod');
  if (second !== undefined) {
    throw problem(
      name,
      `it contains ${documents.length} documents; a manifest contains exactly one, so put each pod into its own file`,
    );
  }
  const { pods, warnings } = decodePods(document);
  if (origin.kind === 'file' && pods.length !== 1) {
    throw problem(name, `it contains ${pods.length} pods; a manifest file contains exactly one Pod`);
  }
  try {
    const notice = isList(document) ? undefined : priorityNotice(pods[0]?.spec ?? { containers: [] });
    if (notice !== undefined) context.onNotice?.(notice);
    return {
      pods: pods.map((pod, index) =>
        staticPod(pod, document, isList(document) ? index : undefined, origin, context),
      ),
      warnings: someProblems(warnings).map(formatProblem),
    };
  } catch (error) {
    // A misspelt field is often the reason why a required one is missing.
    if (error instanceof InvalidManifest) throw new InvalidManifest([...error.problems, ...warnings]);
    throw error;
  }
}

const nodeCritical = { name: 'system-node-critical', priority: 2_000_001_000 };

/** What the priority of a static pod means for its mirror; undefined if there is nothing to say. */
export function priorityNotice({
  priorityClassName: name = '',
  priority,
}: Pick<PodSpec, 'priorityClassName' | 'priority'>): string | undefined {
  if (priority === undefined) {
    if (name === '') return undefined;
    return 'Static pod has priorityClassName and nil priority. Kubelet will not use priorityClassName, and mirror pod creation may fail.';
  }
  if (name === '')
    return "Static pod has priority without priorityClassName. Mirror pod creation may fail if the default priority class doesn't match the given priority.";
  if (priority === nodeCritical.priority && name === nodeCritical.name) return undefined;
  return `Static pod has a priority other than ${nodeCritical.priority} or a priorityClassName other than ${nodeCritical.name}. Mirror pod may be attempted to be evicted from the node ineffectively.`;
}

function staticPod(
  decoded: PodManifest,
  document: SourceDocument,
  index: number | undefined,
  origin: ManifestOrigin,
  context: StaticPodContext,
): Pod {
  const prefix = index === undefined ? [] : ['items', index];
  const fail = (path: readonly (string | number)[], message: string): Problem =>
    problemAt(document, [...prefix, ...path], message);
  if (decoded.metadata.name === undefined || decoded.metadata.name === '') {
    throw new InvalidManifest([fail(['metadata', 'name'], 'invalid pod: name is needed for the pod')]);
  }
  const refused = refusedMetadata(decoded);
  if (refused !== undefined) throw new InvalidManifest([fail(refused.path, refused.message)]);
  const pod = applyNodeDefaults(applyPodDefaults(decoded), origin, context.nodeName);
  // The manifest is not responsible for the node's own name.
  const errors = validatePod({ ...pod, spec: { ...pod.spec, nodeName: undefined } });
  if (errors.length > 0) {
    throw new InvalidManifest(errors.map((error) => fail(error.path, `invalid pod: ${error.message}`)));
  }
  if (context.refuseApiReferences) {
    const references = staticPodReferences(pod);
    if (references.length > 0) {
      throw new InvalidManifest(
        references.map(({ path, what }) =>
          fail(
            path,
            `static pods may not reference ${what}; a static pod runs without the API, so remove the reference`,
          ),
        ),
      );
    }
  }
  return pod;
}

const longestUid = 253;

/** Metadata that the API server would never let through and that would mean harm or nothing here. */
function refusedMetadata({ metadata }: PodManifest): { path: string[]; message: string } | undefined {
  const { uid, annotations } = metadata;
  // The UID becomes the name of the pod's directory.
  if (uid && (!/^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/.test(uid) || uid.length > longestUid)) {
    return {
      path: ['metadata', 'uid'],
      message: `invalid pod: Invalid value: a UID has letters, digits, "-", "_" and "." and begins and ends with a letter or digit; leave it out to have one made`,
    };
  }
  if (annotations?.[configMirrorAnnotation] !== undefined) {
    return {
      path: ['metadata', 'annotations', configMirrorAnnotation],
      message: 'invalid pod: this annotation marks mirror pods, which only the node itself makes; remove it',
    };
  }
  return undefined;
}

/** What a static pod gets beside the API's own defaults. */
function applyNodeDefaults(pod: PodManifest, origin: ManifestOrigin, nodeName: string): Pod {
  const { metadata, spec } = pod;
  const uid = metadata.uid || hashStaticPod(pod, originsOf(origin, nodeName));
  return {
    ...pod,
    metadata: {
      ...metadata,
      uid,
      name: `${metadata.name}-${nodeName.toLowerCase()}`,
      namespace: metadata.namespace || 'default',
      annotations: { ...metadata.annotations, [configHashAnnotation]: uid },
    },
    spec: {
      // After the hash: the pod has the same UID as on a kubelet that knows no class.
      ...withBuiltInPriority(spec),
      nodeName,
      ...(origin.kind === 'file' ? { tolerations: tolerateEviction(spec.tolerations ?? []) } : {}),
    },
    status: { ...pod.status, phase: 'Pending' },
  };
}

function originsOf(origin: ManifestOrigin, nodeName: string): string[] {
  return origin.kind === 'file' ? [`host:${nodeName}`, `file:${origin.path}`] : [`url:${origin.url}`];
}

function tolerateEviction(tolerations: readonly Toleration[]): Toleration[] {
  const wanted: Toleration = { operator: 'Exists', effect: 'NoExecute' };
  const has = tolerations.some(
    ({ key, value, operator, effect }) =>
      !key && !value && operator === wanted.operator && effect === wanted.effect,
  );
  return has ? [...tolerations] : [...tolerations, wanted];
}

function isList(document: SourceDocument): boolean {
  const { value } = document;
  return typeof value === 'object' && value !== null && 'items' in value;
}

function problem(file: string, message: string): InvalidManifest {
  return new InvalidManifest([{ file, line: 1, column: 1, field: '', message }]);
}
