/** What can be posted and is not stored, or is asked of the kubelet: reviews, tokens, evictions, logs, terminals. */

/** As discovery shows it. */
export interface PostedKind {
  readonly groupVersion: string;
  readonly name: string;
  readonly singularName: string;
  readonly namespaced: boolean;
  readonly group?: string;
  readonly version?: string;
  readonly kind: string;
  readonly verbs: readonly string[];
}

const create = ['create'] as const;
const connect = ['create', 'get'] as const;

function review(group: string, plural: string, kind: string, namespaced = false): PostedKind {
  return {
    groupVersion: `${group}/v1`,
    name: plural,
    singularName: kind.toLowerCase(),
    namespaced,
    kind,
    verbs: create,
  };
}

function ofPods(name: string, rest: Pick<PostedKind, 'kind' | 'verbs' | 'group' | 'version'>): PostedKind {
  return { groupVersion: 'v1', name: `pods/${name}`, singularName: '', namespaced: true, ...rest };
}

export const postedKinds: readonly PostedKind[] = [
  ofPods('log', { kind: 'Pod', verbs: ['get'] }),
  ofPods('exec', { kind: 'PodExecOptions', verbs: connect }),
  ofPods('attach', { kind: 'PodAttachOptions', verbs: connect }),
  ofPods('portforward', { kind: 'PodPortForwardOptions', verbs: connect }),
  ofPods('binding', { kind: 'Binding', verbs: create }),
  ofPods('eviction', { kind: 'Eviction', group: 'policy', version: 'v1', verbs: create }),
  {
    groupVersion: 'v1',
    name: 'serviceaccounts/token',
    singularName: '',
    namespaced: true,
    group: 'authentication.k8s.io',
    version: 'v1',
    kind: 'TokenRequest',
    verbs: create,
  },
  {
    groupVersion: 'v1',
    name: 'namespaces/finalize',
    singularName: '',
    namespaced: false,
    kind: 'Namespace',
    verbs: ['update'],
  },
  review('authentication.k8s.io', 'tokenreviews', 'TokenReview'),
  review('authentication.k8s.io', 'selfsubjectreviews', 'SelfSubjectReview'),
  review('authorization.k8s.io', 'subjectaccessreviews', 'SubjectAccessReview'),
  review('authorization.k8s.io', 'localsubjectaccessreviews', 'LocalSubjectAccessReview', true),
  review('authorization.k8s.io', 'selfsubjectaccessreviews', 'SelfSubjectAccessReview'),
  review('authorization.k8s.io', 'selfsubjectrulesreviews', 'SelfSubjectRulesReview'),
];
