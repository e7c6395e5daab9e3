/** Subjects of `/metrics/cadvisor` from the summary, where a cgroup cannot be read: what the runtime itself measures. */
import {
  basicsOfSummary,
  type CadvisorNetwork,
  type CadvisorSubject,
  networkOfSummary,
  type SubjectLabels,
  type SummaryFigures,
  subjectLabels,
} from './cadvisor-subject.js';
import { timeMsOf } from './exposition.js';
import type { MeasuredNode } from './provider.js';

/** Only those with the given ids of containers and sandboxes; all of them and the machine without. */
export function summarySubjects(
  { summary, pods, cgroups }: MeasuredNode,
  ids?: ReadonlySet<string>,
): CadvisorSubject[] {
  const subjects: CadvisorSubject[] = [];
  const add = (
    kind: CadvisorSubject['kind'],
    labels: SubjectLabels,
    startMs: number | undefined,
    figures: SummaryFigures,
    network?: CadvisorNetwork,
  ): void => {
    subjects.push({
      kind,
      labels: subjectLabels(labels),
      id: labels.id,
      createdMs: startMs,
      startMs,
      basics: basicsOfSummary(figures),
      sample: undefined,
      network,
      devices: new Map(),
      allDevices: [],
      fileSystems: [],
    });
  };
  if (ids === undefined) {
    const { node } = summary;
    add('root', { id: '/' }, timeMsOf(node.startTime), node, networkOfSummary(node.network));
  }
  pods.forEach((pod, at) => {
    const told = summary.pods[at];
    if (told === undefined) return;
    const owner = { namespace: pod.namespace, pod: pod.name };
    const startMs = timeMsOf(told.startTime);
    if (ids === undefined || ids.has(pod.sandbox.id)) {
      const sandbox = { ...owner, name: pod.sandbox.id, id: cgroups.get(pod.sandbox.id) ?? '' };
      add('container', sandbox, startMs, {}, networkOfSummary(told.network));
      add('cgroup', { ...owner, id: cgroups.get(pod.uid) ?? '' }, startMs, told);
    }
    pod.containers.forEach(({ container, name }, index) => {
      const stats = told.containers[index];
      if (stats === undefined || (ids !== undefined && !ids.has(container.id))) return;
      const image = container.image?.userSpecifiedImage || container.image?.image || container.imageRef;
      const id = cgroups.get(container.id) ?? '';
      add(
        'container',
        { ...owner, container: name, image, name: container.id, id },
        timeMsOf(stats.startTime),
        stats,
      );
    });
  });
  return subjects;
}
