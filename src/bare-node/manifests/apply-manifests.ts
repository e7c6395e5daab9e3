/** Applies manifests to the API of this node as `kubectl apply --server-side --prune` would, under a manager of its own. */
import { errorText } from '../../async/index.js';
import { canonicalJson, type KubeObject, type Problem } from '../../kube/index.js';
import type { ServedApi, ServedKind } from '../../kube-api/index.js';
import { ApiError, isNotFound, type ObjectRef, resources } from '../../kube-client/index.js';
import type { AppliedManifest } from './read-manifest.js';

/** Owns the fields of the manifests; an object that it applies is its own, and is removed with its manifest. */
export const manifestsManager = 'nodelet-manifests';
/** A field that no other manager has a use for: an object stays known as ours when others take all other fields. */
const appliedAnnotation = 'nodelet.local/manifests';

export type AppliedApi = Pick<ServedApi, 'kinds' | 'list' | 'get' | 'apply' | 'delete'>;

export interface ApplyOutcome {
  readonly problems: readonly Problem[];
  /** `Deployment default/web created`. */
  readonly done: readonly string[];
}

/** What others need comes first. */
const firstKinds: readonly string[] = [
  'Namespace',
  'PriorityClass',
  'StorageClass',
  'RuntimeClass',
  'ServiceAccount',
  'Secret',
  'ConfigMap',
  'PersistentVolume',
  'PersistentVolumeClaim',
  'Service',
];

export class ManifestApplier {
  readonly #api: AppliedApi;
  /** The configurations that the API took, by object: the same one is not sent again. */
  readonly #applied = new Map<string, string>();

  constructor(api: AppliedApi) {
    this.#api = api;
  }

  /** `mayPrune`: nothing is unknown of what the manifests ask for. */
  async apply(wanted: readonly AppliedManifest[], mayPrune: boolean): Promise<ApplyOutcome> {
    const problems: Problem[] = [];
    const done: string[] = [];
    const keys = new Set<string>();
    for (const object of inOrder(wanted)) {
      const key = keyOf(object.kind, object.ref);
      if (keys.has(key)) {
        problems.push(
          object.problem(
            'metadata.name',
            `${key} is defined before, which counts; give one of them another name`,
          ),
        );
        continue;
      }
      keys.add(key);
      const outcome = await this.#applyOne(object, key);
      if (typeof outcome === 'string') done.push(`${key} ${outcome}`);
      else problems.push(...outcome);
    }
    for (const key of this.#applied.keys()) if (!keys.has(key)) this.#applied.delete(key);
    if (mayPrune) done.push(...(await this.#prune(keys)));
    return { problems, done };
  }

  async #applyOne(object: AppliedManifest, key: string): Promise<string | readonly Problem[]> {
    const { kind, ref, config, problem } = object;
    const text = canonicalJson(config);
    if (this.#applied.get(key) === text) return [];
    this.#applied.delete(key);
    try {
      const before = this.#find(kind, ref);
      if (before !== undefined && !isOurs(before))
        return [
          problem(
            'metadata.name',
            `${key} was made by somebody else, and is left alone; give this one another name, or delete the other`,
          ),
        ];
      // The configuration was read by the schema of its kind; the API changes what it is given.
      const write = { fieldManager: manifestsManager };
      const { object: after, isNew } = await this.#api.apply(kind.resource, ref, marked(config), write);
      this.#applied.set(key, text);
      if (isNew) return 'created';
      return before?.metadata.resourceVersion === after.metadata.resourceVersion ? [] : 'configured';
    } catch (error) {
      return problemsOf(error, object);
    }
  }

  #find({ resource }: ServedKind, ref: ObjectRef): KubeObject | undefined {
    try {
      return this.#api.get(resource, ref);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** Removes our objects that no manifest has any more. A namespace stays: others may have objects in it. */
  async #prune(keys: ReadonlySet<string>): Promise<string[]> {
    const done: string[] = [];
    for (const kind of this.#api.kinds) {
      if (kind.resource.plural === resources.namespaces.plural) continue;
      for (const { metadata } of this.#api.list(kind.resource).items.filter(isOurs)) {
        const { name = '', namespace, uid } = metadata;
        const ref = { name, ...(namespace === undefined ? {} : { namespace }) };
        const key = keyOf(kind, ref);
        if (keys.has(key) || metadata.deletionTimestamp !== undefined) continue;
        try {
          const preconditions = uid === undefined ? {} : { preconditions: { uid } };
          await this.#api.delete(kind.resource, ref, { propagationPolicy: 'Background', ...preconditions });
          done.push(`${key} deleted, as no manifest has it any more`);
        } catch (error) {
          if (!isNotFound(error)) done.push(`${key} cannot be deleted: ${errorText(error)}`);
        }
      }
    }
    return done;
  }
}

function marked(config: KubeObject): KubeObject {
  const { metadata, ...rest } = structuredClone(config);
  const annotations = { ...metadata.annotations, [appliedAnnotation]: 'applied' };
  return { ...rest, metadata: { ...metadata, annotations } };
}

function isOurs({ metadata }: KubeObject): boolean {
  return (metadata.managedFields ?? []).some(
    ({ manager, operation }) => manager === manifestsManager && operation === 'Apply',
  );
}

function inOrder(wanted: readonly AppliedManifest[]): AppliedManifest[] {
  const rank = ({ kind }: AppliedManifest): number => {
    const found = firstKinds.indexOf(kind.resource.kind);
    return found < 0 ? firstKinds.length : found;
  };
  return [...wanted].sort((a, b) => rank(a) - rank(b));
}

function keyOf({ resource }: ServedKind, { namespace, name }: ObjectRef): string {
  return `${resource.kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
}

/** At the fields that the API names, or else at the object. */
function problemsOf(error: unknown, { problem }: AppliedManifest): Problem[] {
  if (!(error instanceof ApiError)) throw error;
  const causes = error.details?.causes ?? [];
  const fix =
    error.reason === 'Conflict' ? '; remove the field here, or let the other manager give it up' : '';
  const told = causes.flatMap(({ field, message }) =>
    field === undefined || message === undefined ? [] : [problem(field, `${message}${fix}`)],
  );
  return told.length > 0 ? told : [problem('', error.message)];
}
