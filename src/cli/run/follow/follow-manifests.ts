/** Makes changes of followed manifests real in a run, and tells why. */
import type { Clock } from '../../../async/index.js';
import type { Pod } from '../../../kube/index.js';
import type { StandaloneObjects } from '../../../pods/index.js';
import type { ManifestNews } from '../../../pods/sources/held-files.js';
import { clockTime, podRef, type Timeline } from '../../../timeline/index.js';
import type { ManifestPod } from '../manifest.js';
import type { RunPod } from '../run-pod.js';
import type { RunPodChange, RunPods } from '../run-pods.js';
import type { RunView } from '../run-view.js';
import type { FollowedManifests } from './followed-manifests.js';

export interface FollowContext {
  readonly followed: FollowedManifests;
  readonly pods: RunPods;
  readonly objects: StandaloneObjects;
  readonly identify: (pod: ManifestPod) => RunPod;
  readonly timeline: Timeline;
  readonly clock: Clock;
  readonly view: Pick<RunView, 'note' | 'warn' | 'changed'>;
}

export const runObjects = 'run';

/** Runs until aborted. */
export async function followManifests(context: FollowContext, signal: AbortSignal): Promise<void> {
  const { followed, pods, objects, identify, clock, view } = context;
  const note = (text: string): void => view.note(`${clockTime(clock.now())} ${text}`);
  const unsubscribe = objects.onChange(({ kind, namespace, name }) =>
    note(`${kind} ${namespace === '' ? '' : `${namespace}/`}${name} of the manifests changed`),
  );
  try {
    await followed.run(
      (content, news) => {
        tell(context, news, note);
        objects.set(runObjects, content.objects);
        for (const change of pods.apply(content.pods.map(identify), clock.now())) {
          record(context, change);
          note(changeText(change));
        }
        view.changed();
      },
      signal,
      (message) => view.warn(`warning: ${message}`),
    );
  } finally {
    unsubscribe();
  }
}

function tell({ view, timeline }: FollowContext, news: ManifestNews, note: (text: string) => void): void {
  const because = 'its pods run on as they are';
  for (const message of news.errors) {
    view.warn(`error: ${message}`);
    timeline.record({ kind: 'problem', what: 'manifest', message, because });
  }
  for (const warning of news.warnings) note(`warning: ${warning}`);
  for (const message of news.notes) {
    note(message);
    timeline.record({ kind: 'observation', what: 'manifest', message, level: 'info' });
  }
}

/** Tells `explain`, of the pod and of the one that it follows. */
function record({ timeline }: FollowContext, { kind: change, pod, earlier, because }: RunPodChange): void {
  const messages = {
    started: 'the pod is started',
    updated: 'the pod is updated in place',
    replaced: 'the pod takes the place of an earlier one, after its end',
    ended: 'the pod is ended',
  } as const;
  const entry = { kind: 'decision', what: 'pod.manifest', because, data: { change } } as const;
  timeline.record({ ...entry, message: messages[change], pod: podRef(pod) });
  if (earlier === undefined) return;
  timeline.record({ ...entry, message: 'another pod takes the place of this one', pod: podRef(earlier) });
}

function changeText({ kind, pod, earlier, because }: RunPodChange): string {
  switch (kind) {
    case 'started':
      return `${nameOf(pod)}: started, as ${because}`;
    case 'updated':
      return `${nameOf(pod)}: updated in place, as ${because}`;
    case 'replaced':
      return `${nameOf(pod)}: takes the place of ${earlier && nameOf(earlier) !== nameOf(pod) ? nameOf(earlier) : 'the running pod'} after its end, as ${because}`;
    case 'ended':
      return `${nameOf(pod)}: ended, as ${because}`;
  }
}

function nameOf({ metadata: { namespace, name } }: Pod): string {
  return namespace === 'default' ? name : `${namespace}/${name}`;
}
