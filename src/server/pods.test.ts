import { describe, expect, it } from 'vitest';
import type { ObservedContainer, ObservedPod } from '../cri/index.js';
import type { Pod } from '../kube/index.js';
import { podList, runningPods } from './pods.js';

const container = (name: string, state: ObservedContainer['state']): ObservedContainer => ({
  id: `${name}-1`,
  name,
  sandboxId: 's',
  state,
  image: `${name}:1`,
  imageId: 'sha256:1',
  hash: '',
  createdAtNs: 1n,
});
const observed = (
  name: string,
  sandbox: 'running' | 'exited',
  containers: ObservedContainer[],
): ObservedPod => ({
  uid: `uid-${name}`,
  name,
  namespace: 'default',
  sandboxes: [{ id: 's', state: sandbox, attempt: 0, createdAtNs: 1n }],
  containers,
  observedAtMs: 0,
});

describe('runningPods', () => {
  it('shows running pods with only their running containers', () => {
    const pods = runningPods([
      observed('web', 'running', [container('app', 'running'), container('init', 'exited')]),
      observed('empty', 'running', []),
      observed('orphan', 'exited', [container('app', 'running')]),
      observed('over', 'exited', [container('app', 'exited')]),
    ]);
    expect(
      pods.map(({ metadata, spec }) => [metadata.name, spec.containers.map(({ name }) => name)]),
    ).toEqual([
      ['web', ['app']],
      ['empty', []],
      ['orphan', ['app']],
    ]);
    expect(pods[0]).toEqual({
      metadata: { name: 'web', namespace: 'default', uid: 'uid-web' },
      spec: { containers: [{ name: 'app', image: 'app:1', resources: {} }] },
      status: {},
    });
  });
});

describe('podList', () => {
  it('is a typed list of untyped items', () => {
    const pod: Pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { uid: 'u', name: 'web', namespace: 'default' },
      spec: { containers: [] },
      status: { phase: 'Running' },
    };
    expect(JSON.stringify(podList([pod]))).toBe(
      '{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"uid":"u","name":"web","namespace":"default"},"spec":{"containers":[]},"status":{"phase":"Running"}}]}',
    );
  });
});
