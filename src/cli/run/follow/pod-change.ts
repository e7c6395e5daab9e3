/** Decides what a changed manifest means for its pod: nothing, an update in place, or another pod. */
import { configHashAnnotation, type Pod, type PodSpec, semanticEqual } from '../../../kube/index.js';
import { validatePodUpdate } from '../../../kube-api/kinds/pods/pod-update.js';
import { changedFields } from './changed-fields.js';

const templateHashLabel = 'pod-template-hash';

export type ManifestPodChange =
  | { readonly kind: 'same' }
  /** As an API server lets a pod be updated. */
  | { readonly kind: 'update'; readonly because: string }
  | { readonly kind: 'replace'; readonly because: string };

export interface RunningPod {
  readonly pod: Pod;
  /** Its containers will not run again. */
  readonly hasEnded: boolean;
}

export function podChange({ pod: current, hasEnded }: RunningPod, next: Pod): ManifestPodChange {
  const [before, after] = [contentOf(current), contentOf(next)];
  const fields = changedFields(before, after);
  const identity = changedFields(identityOf(current), identityOf(next));
  if (fields === '' && identity === '') return { kind: 'same' };
  // The name of a workload's pod follows from the template, so what changed there says more.
  const because = `${fields === '' ? identity : fields} changed`;
  // A controller never updates its pods: it makes others from the new template.
  if (identity !== '' || isOwned(current)) return { kind: 'replace', because };
  if (hasEnded && !semanticEqual(current.spec, next.spec))
    return { kind: 'replace', because: `${because}, and the pod has ended` };
  const refusal = refusalOf(current, next);
  if (refusal === undefined) return { kind: 'update', because };
  return { kind: 'replace', because: refusal === '' ? because : `${because}: ${refusal}` };
}

/** What no update can change. */
function identityOf({ metadata: { name, namespace, labels, ownerReferences = [] } }: Pod): unknown {
  const { [templateHashLabel]: hash } = labels ?? {};
  return { metadata: { name, namespace, labels: { [templateHashLabel]: hash }, ownerReferences } };
}

function contentOf({ metadata, spec }: Pod): unknown {
  const { [configHashAnnotation]: _, ...annotations } = metadata.annotations ?? {};
  const { [templateHashLabel]: _hash, ...labels } = metadata.labels ?? {};
  return { metadata: { labels, annotations }, spec };
}

function isOwned({ metadata: { ownerReferences = [] } }: Pod): boolean {
  return ownerReferences.some(({ controller }) => controller === true);
}

/** Why the running pod cannot become the next one, empty where the fields say enough; undefined if it can. */
function refusalOf(current: Pod, next: Pod): string | undefined {
  const asBefore = withResources(next, current.spec);
  if (validatePodUpdate(asBefore, current, undefined).length > 0) return '';
  const resized = withResources(current, next.spec);
  if (semanticEqual(resized.spec, current.spec)) return undefined;
  const [problem] = validatePodUpdate(resized, current, 'resize');
  return problem?.message;
}

/** The pod with the resources, and what may change with them, of another spec. */
function withResources(pod: Pod, from: PodSpec): Pod {
  const { resources: _, ...rest } = pod.spec;
  const listFrom = (list: 'containers' | 'initContainers'): PodSpec['containers'] =>
    (pod.spec[list] ?? []).map((container, index) => {
      const { resources: _old, resizePolicy: _policy, ...others } = container;
      const { name, resources, resizePolicy } = from[list]?.[index] ?? {};
      if (name !== container.name) return container;
      return {
        ...others,
        ...(resources === undefined ? {} : { resources }),
        ...(resizePolicy === undefined ? {} : { resizePolicy }),
      };
    });
  return {
    ...pod,
    spec: {
      ...rest,
      ...(from.resources === undefined ? {} : { resources: from.resources }),
      containers: listFrom('containers'),
      ...(pod.spec.initContainers === undefined ? {} : { initContainers: listFrom('initContainers') }),
    },
  };
}
