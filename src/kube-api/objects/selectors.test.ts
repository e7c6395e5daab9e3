import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../kube/types/index.js';
import { type Resource, resources } from '../../kube-client/resources.js';
import { filterOf } from './selectors.js';

describe('field selectors', () => {
  it.each<[Resource, string, object, boolean]>([
    [resources.nodes, 'spec.unschedulable=false', {}, true],
    [resources.nodes, 'spec.unschedulable=true', { spec: { unschedulable: true } }, true],
    [resources.nodes, 'spec.unschedulable!=true', {}, true],
    [resources.pods, 'spec.hostNetwork=false', { spec: {} }, true],
    [resources.pods, 'status.phase!=Failed,status.phase!=Succeeded', { status: { phase: 'Running' } }, true],
    [resources.pods, 'spec.nodeName=', { spec: {} }, true],
    [resources.jobs, 'status.successful=1', { status: { succeeded: 1 } }, true],
    [resources.jobs, 'status.successful=0', {}, true],
    [resources.replicaSets, 'status.replicas=2', { status: { replicas: 2 } }, true],
    [resources.events, 'source=kubelet', { source: { component: 'kubelet' } }, true],
    [resources.events, 'source=kubelet', { reportingComponent: 'kubelet' }, true],
    [resources.events, 'involvedObject.fieldPath=a', { involvedObject: { fieldPath: 'a' } }, true],
    [resources.secrets, 'type=Opaque', { type: 'other' }, false],
  ])('$kind: %s', (resource, fieldSelector, object, matches) => {
    const found: KubeObject = { metadata: { name: 'x' }, ...object };
    expect(filterOf(resource, { fieldSelector })(found)).toBe(matches);
  });
});
