/** Leaves out of pods what switched-off gates stand for: objects made while a gate was on elsewhere still have it. */
import type { FeatureGates } from '../../config/index.js';
import type { AnyContainer, Container, EnvVar, Pod } from '../../kube/index.js';

type Change = (pod: Pod) => Pod;

/** Undefined where every field counts. The same pod always becomes the same object, so that it is known again. */
export function withoutGatedFields(gates: FeatureGates): Change | undefined {
  const changes: Change[] = [
    ...(gates.enabled('ContainerRestartRules') ? [] : [withoutRestartRules]),
    ...(gates.enabled('DRANodeAllocatableResources') ? [] : [withoutClaimedAmounts]),
    ...(gates.enabled('EnvFiles') ? [] : [withoutEnvFiles]),
  ];
  if (changes.length === 0) return undefined;
  const known = new WeakMap<Pod, Pod>();
  return (pod) => {
    const before = known.get(pod);
    if (before !== undefined) return before;
    const changed = changes.reduce((one, change) => change(one), pod);
    if (changed !== pod) known.set(pod, changed);
    return changed;
  };
}

/** The API keeps them: statuses that others write are not written back. */
const withoutClaimedAmounts: Change = (pod) => {
  if (pod.status?.nodeAllocatableResourceClaimStatuses === undefined) return pod;
  const { nodeAllocatableResourceClaimStatuses: _, ...status } = pod.status;
  return { ...pod, status };
};

/** A sidecar is told by the same field, and stays one. */
const withoutRestartRules: Change = ({ spec, ...pod }) => ({
  ...pod,
  spec: {
    ...spec,
    containers: spec.containers.map(withPolicyOfPod),
    ...(spec.initContainers === undefined
      ? {}
      : {
          initContainers: spec.initContainers.map((container) =>
            container.restartPolicy === 'Always'
              ? { ...withPolicyOfPod(container), restartPolicy: 'Always' }
              : withPolicyOfPod(container),
          ),
        }),
  },
});

function withPolicyOfPod(container: Container): Container {
  const { restartPolicy: _policy, restartPolicyRules: _rules, ...rest } = container;
  return rest;
}

/** Such variables are there, and empty. */
const withoutEnvFiles: Change = ({ spec, ...pod }) => {
  const { initContainers, ephemeralContainers } = spec;
  return {
    ...pod,
    spec: {
      ...spec,
      containers: spec.containers.map(withPlainEnv),
      ...(initContainers === undefined ? {} : { initContainers: initContainers.map(withPlainEnv) }),
      ...(ephemeralContainers === undefined
        ? {}
        : { ephemeralContainers: ephemeralContainers.map(withPlainEnv) }),
    },
  };
};

function withPlainEnv<T extends AnyContainer>(container: T): T {
  if (container.env === undefined) return container;
  return { ...container, env: container.env.map(plainVariable) };
}

function plainVariable(variable: EnvVar): EnvVar {
  return variable.valueFrom?.fileKeyRef === undefined ? variable : { name: variable.name };
}
