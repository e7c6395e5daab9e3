/** Pods from the drafts of a plan, and what may be expected of them in the end. */
import type { Container, Pod, PodSpec } from '../../src/kube/index.js';
import { apiPod, type PodShape, staticPod } from '../../test/sim/pods.js';
import type { PodDraft } from '../plan/step.js';

const probe = { exec: { command: ['true'] }, periodSeconds: 5 };

function containerOf(name: string, draft: PodDraft): Container {
  const { cpu, memory, probes, preStop, volumes } = draft;
  const amounts = { ...(cpu === undefined ? {} : { cpu }), ...(memory === undefined ? {} : { memory }) };
  return {
    name,
    image: 'app:1',
    ...(cpu === undefined && memory === undefined
      ? {}
      : { resources: { requests: amounts, limits: amounts } }),
    ...(probes === true ? { readinessProbe: probe, livenessProbe: probe } : {}),
    ...(preStop === true ? { lifecycle: { preStop: { exec: { command: ['true'] } } } } : {}),
    ...(volumes === true
      ? {
          volumeMounts: [
            { name: 'maps', mountPath: '/maps' },
            { name: 'scratch', mountPath: '/scratch' },
          ],
        }
      : {}),
  };
}

function shapeOf(name: string, draft: PodDraft): PodShape {
  const { init, restartPolicy, graceSeconds, sim = {}, volumes, hostNetwork } = draft;
  const names = ['app', 'other', 'third'].slice(0, draft.containers);
  const spec: Partial<PodSpec> = {
    ...(restartPolicy === undefined ? {} : { restartPolicy }),
    ...(hostNetwork === true ? { hostNetwork } : {}),
    ...(volumes === true
      ? {
          volumes: [
            {
              name: 'maps',
              projected: {
                sources: [{ configMap: { name } }, { secret: { name } }],
              },
            },
            { name: 'scratch', emptyDir: {} },
          ],
        }
      : {}),
  };
  const first: Container = { name: 'setup', image: 'app:1' };
  return {
    containers: names.map((each) => containerOf(each, draft)),
    ...(init === undefined
      ? {}
      : { init: [init === 'sidecar' ? { ...first, restartPolicy: 'Always' } : first] }),
    graceSeconds,
    sim: { ...sim, ...(init === 'plain' ? { 'setup.run-time': '700ms' } : {}) },
    spec,
  };
}

/** As a user posts it, bound to the node. */
export function podOfDraft(
  name: string,
  draft: PodDraft,
): Omit<Pod, 'metadata'> & { metadata: Omit<Pod['metadata'], 'uid'> } {
  const { metadata, spec } = apiPod(name, shapeOf(name, draft));
  const { uid: _, creationTimestamp: __, ...rest } = metadata;
  return { metadata: rest, spec };
}

export function manifestOf(name: string, image: string, graceSeconds: number): Pod {
  return staticPod(name, { image, graceSeconds, sim: { 'stop-delay': '300ms' } });
}

/** How a pod ends up when nobody disturbs it. */
export function fateOf({ restartPolicy = 'Always', sim = {} }: PodDraft): 'runs' | 'ends' | 'unsettled' {
  if (sim['start-error'] !== undefined) return 'unsettled';
  if (sim['run-time'] === undefined) return 'runs';
  return restartPolicy === 'Always'
    ? 'unsettled'
    : restartPolicy === 'OnFailure' && sim['exit-code'] !== undefined
      ? 'unsettled'
      : 'ends';
}
