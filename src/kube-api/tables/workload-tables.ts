/** The tables of pods and of the kinds that make them. */
import { podRow } from '../../kube/pods/pod-row.js';
import type {
  Container,
  ControllerRevision,
  CronJob,
  DaemonSet,
  Deployment,
  Job,
  LabelSelector,
  Pod,
  PodSpec,
  ReplicaSet,
  StatefulSet,
} from '../../kube/types/index.js';
import { formatAge } from '../../kube/values/age.js';
import { ageColumn, ageOf, count, kindTable, none, orNone, since, text, wide } from './columns.js';

const templateColumns = [
  wide(text('Containers', 'Names of the containers')),
  wide(text('Images', 'Images of the containers')),
  wide(text('Selector', 'Labels of its pods')),
];

function templateCells(spec: PodSpec | undefined, selector: LabelSelector | undefined): string[] {
  const containers: readonly Container[] = spec?.containers ?? [];
  return [
    containers.map(({ name }) => name).join(','),
    containers.map(({ image = '' }) => image).join(','),
    selectorText(selector),
  ];
}

export function selectorText(selector: LabelSelector | undefined): string {
  const labels = Object.entries(selector?.matchLabels ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}=${value}`);
  const terms = (selector?.matchExpressions ?? []).map(({ key, operator, values = [] }) => {
    switch (operator) {
      case 'Exists':
        return key;
      case 'DoesNotExist':
        return `!${key}`;
      default:
        return `${key} ${operator.toLowerCase()} (${[...values].sort().join(',')})`;
    }
  });
  return orNone([...labels, ...terms]);
}

export const podTable = kindTable<Pod>({
  columns: [
    text('Ready', 'Ready containers of all'),
    text('Status', 'State of the pod and its containers'),
    text('Restarts', 'How often containers were started again, and when last'),
    ageColumn,
    wide(text('IP', 'Address of the pod')),
    wide(text('Node', 'Node that runs it')),
    wide(text('Nominated Node', 'Node that is making room for it')),
    wide(text('Readiness Gates', 'Extra conditions that are met, of all')),
  ],
  row: (pod, nowMs) => {
    const { ready, status, restarts } = podRow(pod, nowMs);
    const gates = pod.spec.readinessGates ?? [];
    const met = gates.filter(({ conditionType }) =>
      (pod.status?.conditions ?? []).some((one) => one.type === conditionType && one.status === 'True'),
    );
    return [
      ready,
      status,
      restarts,
      ageOf(pod, nowMs),
      pod.status?.podIP || none,
      pod.spec.nodeName || none,
      pod.status?.nominatedNodeName || none,
      gates.length === 0 ? none : `${met.length}/${gates.length}`,
    ];
  },
});

export const deploymentTable = kindTable<Deployment>({
  columns: [
    text('Ready', 'Ready pods of those wanted'),
    count('Up-to-date', 'Pods of the newest template'),
    count('Available', 'Pods that have been ready long enough'),
    ageColumn,
    ...templateColumns,
  ],
  row: (object, nowMs) => {
    const { spec, status = {} } = object;
    return [
      `${status.readyReplicas ?? 0}/${spec.replicas ?? 1}`,
      status.updatedReplicas ?? 0,
      status.availableReplicas ?? 0,
      ageOf(object, nowMs),
      ...templateCells(spec.template.spec, spec.selector),
    ];
  },
});

export const replicaSetTable = kindTable<ReplicaSet>({
  columns: [
    count('Desired', 'Pods that are wanted'),
    count('Current', 'Pods that exist'),
    count('Ready', 'Pods that are ready'),
    ageColumn,
    ...templateColumns,
  ],
  row: (object, nowMs) => {
    const { spec, status } = object;
    return [
      spec.replicas ?? 1,
      status?.replicas ?? 0,
      status?.readyReplicas ?? 0,
      ageOf(object, nowMs),
      ...templateCells(spec.template?.spec, spec.selector),
    ];
  },
});

export const statefulSetTable = kindTable<StatefulSet>({
  columns: [text('Ready', 'Ready pods of those wanted'), ageColumn, ...templateColumns.slice(0, 2)],
  row: (object, nowMs) => [
    `${object.status?.readyReplicas ?? 0}/${object.spec.replicas ?? 1}`,
    ageOf(object, nowMs),
    ...templateCells(object.spec.template.spec, undefined).slice(0, 2),
  ],
});

export const daemonSetTable = kindTable<DaemonSet>({
  columns: [
    count('Desired', 'Nodes that should run a pod'),
    count('Current', 'Nodes that run one'),
    count('Ready', 'Nodes whose pod is ready'),
    count('Up-to-date', 'Nodes with a pod of the newest template'),
    count('Available', 'Nodes whose pod has been ready long enough'),
    text('Node Selector', 'Labels of its nodes'),
    ageColumn,
    ...templateColumns,
  ],
  row: (object, nowMs) => {
    const { spec, status } = object;
    const { nodeSelector = {} } = spec.template.spec;
    return [
      status?.desiredNumberScheduled ?? 0,
      status?.currentNumberScheduled ?? 0,
      status?.numberReady ?? 0,
      status?.updatedNumberScheduled ?? 0,
      status?.numberAvailable ?? 0,
      orNone(Object.entries(nodeSelector).map(([key, value]) => `${key}=${value}`)),
      ageOf(object, nowMs),
      ...templateCells(spec.template.spec, spec.selector),
    ];
  },
});

export const jobTable = kindTable<Job>({
  columns: [
    text('Status', 'Whether it runs, is complete, or failed'),
    text('Completions', 'Pods that succeeded, of those wanted'),
    text('Duration', 'Time from its start to its end, or to now'),
    ageColumn,
    ...templateColumns,
  ],
  row: (object, nowMs) => {
    const { spec } = object;
    return [
      jobStatus(object),
      completions(object),
      duration(object, nowMs),
      ageOf(object, nowMs),
      ...templateCells(spec.template.spec, spec.selector),
    ];
  },
});

function jobStatus({ metadata, status }: Job): string {
  const isTrue = (type: string): boolean =>
    (status?.conditions ?? []).some((one) => one.type === type && one.status === 'True');
  if (isTrue('Complete')) return 'Complete';
  if (isTrue('Failed')) return 'Failed';
  if (metadata.deletionTimestamp !== undefined) return 'Terminating';
  if (isTrue('Suspended')) return 'Suspended';
  if (isTrue('FailureTarget')) return 'FailureTarget';
  return isTrue('SuccessCriteriaMet') ? 'SuccessCriteriaMet' : 'Running';
}

function completions({ spec, status }: Job): string {
  const succeeded = status?.succeeded ?? 0;
  if (spec.completions !== undefined) return `${succeeded}/${spec.completions}`;
  const parallelism = spec.parallelism ?? 0;
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}

function duration({ status }: Job, nowMs: number): string {
  const startMs = Date.parse(status?.startTime ?? '');
  if (Number.isNaN(startMs)) return '';
  const endMs = Date.parse(status?.completionTime ?? '');
  return formatAge((Number.isNaN(endMs) ? nowMs : endMs) - startMs);
}

export const cronJobTable = kindTable<CronJob>({
  columns: [
    text('Schedule', 'When it runs'),
    text('Timezone', 'The zone of the schedule'),
    text('Suspend', 'Whether it is paused'),
    count('Active', 'Jobs that run now'),
    text('Last Schedule', 'Time since the last run'),
    ageColumn,
    ...templateColumns,
  ],
  row: (object, nowMs) => {
    const { spec, status } = object;
    return [
      spec.schedule,
      spec.timeZone ?? none,
      spec.suspend === true ? 'True' : 'False',
      status?.active?.length ?? 0,
      status?.lastScheduleTime === undefined ? none : since(status.lastScheduleTime, nowMs),
      ageOf(object, nowMs),
      ...templateCells(spec.jobTemplate.spec.template.spec, spec.jobTemplate.spec.selector),
    ];
  },
});

export const controllerRevisionTable = kindTable<ControllerRevision>({
  columns: [text('Controller', 'What it is a revision of'), count('Revision', 'Its number'), ageColumn],
  row: (object, nowMs) => {
    const owner = object.metadata.ownerReferences?.find(({ controller }) => controller === true);
    const [group = ''] = (owner?.apiVersion ?? '').split('/');
    const name = owner === undefined ? none : `${owner.kind.toLowerCase()}.${group}/${owner.name}`;
    return [name, object.revision, ageOf(object, nowMs)];
  },
});
