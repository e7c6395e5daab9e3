/** Pods from the drafts of a plan, and what may be expected of them in the end. */
import type { Container, Pod, PodSpec, Volume } from '../../src/kube/index.js';
import { apiPod, type PodShape, staticPod } from '../../test/sim/pods.js';
import type { PodDraft } from '../plan/step.js';
import { deviceResource } from './device-plugin.js';

const probe = { exec: { command: ['true'] }, periodSeconds: 5 };

function containerOf(name: string, draft: PodDraft): Container {
  const { probes, preStop, volumes, devices, claim, hostPort } = draft;
  const isFirst = name === 'app';
  const amounts = {
    ...amountsOf(draft),
    ...(isFirst && devices !== undefined ? { [deviceResource]: String(devices) } : {}),
  };
  const mounts = [
    ...(volumes === true
      ? [
          { name: 'maps', mountPath: '/maps' },
          { name: 'scratch', mountPath: '/scratch' },
        ]
      : []),
    ...(claim === undefined ? [] : [{ name: 'data', mountPath: '/data' }]),
  ];
  return {
    name,
    image: 'app:1',
    ...(Object.keys(amounts).length === 0 ? {} : { resources: { requests: amounts, limits: amounts } }),
    ...(isFirst && hostPort !== undefined
      ? { ports: [{ containerPort: 80, hostPort, protocol: 'TCP' as const }] }
      : {}),
    ...(probes === true ? { readinessProbe: probe, livenessProbe: probe } : {}),
    ...(preStop === true ? { lifecycle: { preStop: { exec: { command: ['true'] } } } } : {}),
    ...(mounts.length === 0 ? {} : { volumeMounts: mounts }),
  };
}

function amountsOf({ cpu, memory }: PodDraft): Record<string, string> {
  return { ...(cpu === undefined ? {} : { cpu }), ...(memory === undefined ? {} : { memory }) };
}

/** CPUs that the container has for itself where a CPU manager gives them; undefined where it shares. */
export function exclusiveCpusOf({ guaranteed, cpu = '', memory }: PodDraft): number | undefined {
  return guaranteed === true && memory !== undefined && /^\d+$/.test(cpu) ? Number(cpu) : undefined;
}

function volumesOf(name: string, { volumes, claim }: PodDraft): Volume[] {
  return [
    ...(volumes === true
      ? [
          {
            name: 'maps',
            projected: { sources: [{ configMap: { name } }, { secret: { name } }] },
          },
          { name: 'scratch', emptyDir: {} },
        ]
      : []),
    ...(claim === undefined ? [] : [{ name: 'data', persistentVolumeClaim: { claimName: claim } }]),
  ];
}

function shapeOf(name: string, draft: PodDraft): PodShape {
  const { init, restartPolicy, graceSeconds, sim = {}, hostNetwork, guaranteed } = draft;
  const volumes = volumesOf(name, draft);
  const names = ['app', 'other', 'third'].slice(0, draft.containers);
  const spec: Partial<PodSpec> = {
    ...(restartPolicy === undefined ? {} : { restartPolicy }),
    ...(hostNetwork === true ? { hostNetwork } : {}),
    ...(volumes.length === 0 ? {} : { volumes }),
  };
  const amounts = guaranteed === true ? amountsOf(draft) : {};
  const first: Container = {
    name: 'setup',
    image: 'app:1',
    ...(Object.keys(amounts).length === 0 ? {} : { resources: { requests: amounts, limits: amounts } }),
  };
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
