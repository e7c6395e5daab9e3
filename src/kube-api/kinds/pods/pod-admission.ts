/** What a new pod is given by other objects: account, tolerations, priority, runtime class. */
import { computeQosClass } from '../../../kube/pods/qos.js';
import type { Pod, PriorityClass, RuntimeClass, Toleration } from '../../../kube/types/index.js';
import { semanticEqual } from '../../../kube/values/deep-equal.js';
import { resources } from '../../../kube-client/resources.js';
import { forbidden } from '../../objects/server-errors.js';
import { systemPriorityClasses } from '../priority-class.js';
import type { ServerFacts } from '../served-kind.js';
import { admitServiceAccount } from './service-account.js';

const awaitedTaints = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'] as const;
const toleratedSeconds = 300;

export function admitPod(pod: Pod, facts: ServerFacts): void {
  admitServiceAccount(pod, facts);
  addDefaultTolerations(pod);
  admitPriority(pod, facts);
  admitRuntimeClass(pod, facts);
  const gates = pod.spec.schedulingGates ?? [];
  pod.status = {
    phase: 'Pending',
    ...(gates.length === 0
      ? {}
      : {
          conditions: [
            {
              type: 'PodScheduled',
              status: 'False',
              reason: 'SchedulingGated',
              message: 'Scheduling is blocked due to non-empty scheduling gates',
            },
          ],
        }),
    qosClass: computeQosClass(pod),
  };
}

/** A pod stays five minutes on a node that is not well, unless it says otherwise. */
export function addDefaultTolerations({ spec }: Pod): void {
  const given = spec.tolerations ?? [];
  const missing = awaitedTaints.filter((key) => !given.some((one) => toleratesExecution(one, key)));
  if (missing.length === 0) return;
  spec.tolerations = [
    ...given,
    ...missing.map((key) => ({
      key,
      operator: 'Exists',
      effect: 'NoExecute',
      tolerationSeconds: toleratedSeconds,
    })),
  ];
}

function toleratesExecution({ key = '', effect = '' }: Toleration, taint: string): boolean {
  return (key === taint || key === '') && (effect === 'NoExecute' || effect === '');
}

function admitPriority(pod: Pod, facts: ServerFacts): void {
  const { spec, metadata } = pod;
  const found = priorityClassOf(pod, facts);
  const { value = 0, preemptionPolicy = 'PreemptLowerPriority' } = found ?? {};
  if (spec.priority !== undefined && spec.priority !== value)
    throw forbidden(
      resources.pods,
      metadata.name,
      `the integer value of priority (${spec.priority}) must not be provided in pod spec; priority admission controller computed ${value} from the given PriorityClass name`,
    );
  if (spec.preemptionPolicy && spec.preemptionPolicy !== preemptionPolicy)
    throw forbidden(
      resources.pods,
      metadata.name,
      `the string value of PreemptionPolicy (${spec.preemptionPolicy}) must not be provided in pod spec; priority admission controller computed ${preemptionPolicy} from the given PriorityClass name`,
    );
  spec.priority = value;
  spec.preemptionPolicy = preemptionPolicy;
  const className = found?.metadata.name;
  if (className !== undefined) spec.priorityClassName = className;
}

/** Undefined when the pod names none and no class is the default. */
function priorityClassOf({ spec, metadata }: Pod, facts: ServerFacts): PriorityClass | undefined {
  const name = spec.priorityClassName;
  if (name) {
    const found =
      facts.find(resources.priorityClasses, { name }) ??
      systemPriorityClasses.find((one) => one.metadata.name === name);
    if (found === undefined)
      throw forbidden(resources.pods, metadata.name, `no PriorityClass with name ${name} was found`);
    return found;
  }
  // Should two be the default after all, the lower one is safer.
  const defaults = facts.list(resources.priorityClasses).filter(({ globalDefault }) => globalDefault);
  return defaults.toSorted((a, b) => a.value - b.value)[0];
}

function admitRuntimeClass(pod: Pod, facts: ServerFacts): void {
  const { spec, metadata } = pod;
  const rejected = (why: string): Error => forbidden(resources.pods, metadata.name, `pod rejected: ${why}`);
  const hasOverhead = Object.keys(spec.overhead ?? {}).length > 0;
  const name = spec.runtimeClassName;
  const runtimeClass = name ? facts.find(resources.runtimeClasses, { name }) : undefined;
  if (name && runtimeClass === undefined) throw rejected(`RuntimeClass ${JSON.stringify(name)} not found`);
  const fixed = runtimeClass?.overhead?.podFixed;
  if (fixed === undefined) {
    if (hasOverhead) throw rejected('Pod Overhead set without corresponding RuntimeClass defined Overhead');
  } else if (!hasOverhead) spec.overhead = { ...fixed };
  else if (!semanticEqual(spec.overhead, fixed))
    throw rejected("Pod's Overhead doesn't match RuntimeClass's defined Overhead");
  if (runtimeClass !== undefined) admitScheduling(pod, runtimeClass);
}

/** A class of runtimes may be on some nodes only. */
function admitScheduling({ spec, metadata }: Pod, { scheduling }: RuntimeClass): void {
  for (const [key, value] of Object.entries(scheduling?.nodeSelector ?? {})) {
    const given = spec.nodeSelector?.[key];
    if (given !== undefined && given !== value)
      throw forbidden(
        resources.pods,
        metadata.name,
        `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${value}; pod.spec.nodeSelector[${key}] = ${given}`,
      );
    spec.nodeSelector = { ...spec.nodeSelector, [key]: value };
  }
  // The class was validated to have tolerations here.
  const tolerations = (scheduling?.tolerations ?? []) as readonly Toleration[];
  const missing = tolerations.filter(
    (one) => !(spec.tolerations ?? []).some((given) => semanticEqual(given, one)),
  );
  if (missing.length > 0)
    spec.tolerations = [...(spec.tolerations ?? []), ...missing.map((one) => ({ ...one }))];
}
