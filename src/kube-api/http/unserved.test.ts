import { expect, it } from 'vitest';
import { servedKinds } from '../kinds/kinds.js';
import { KindIndex, targetOf } from './target.js';
import { unserved, unservedBelow, unservedResponse } from './unserved.js';

const versions = {
  groupVersions: ['v1', 'apps/v1', 'batch/v1'],
  serves: (groupVersion: string, plural: string) => groupVersion === 'v1' && plural === 'pods',
};
const start = 'the server could not find the requested resource';

it.each([
  ['/apis/networking.k8s.io/v1/ingresses', ': this node does not serve the API group "networking.k8s.io"'],
  [
    '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers',
    ': this node does not serve the API group "autoscaling": nothing here scales pods by what they use; "kubectl scale" sets their number',
  ],
  ['/apis/batch/v1beta1/cronjobs', ': this node serves batch/v1, not "batch/v1beta1"'],
  ['/apis/apps/v1/namespaces/default/things', ': this node serves no "things" in apps/v1'],
  ['/api/v1/replicationcontrollers', ': this node serves no "replicationcontrollers" in v1'],
  ['/api/v1/namespaces/default/limitranges/x', ': this node serves no "limitranges" in v1'],
  ['/api/v2', ': this node serves v1, not "v2"'],
  ['/apis/a\u0007b/v1', ': this node does not serve the API group "a?b"'],
  [`/apis/${'x'.repeat(1000)}/v1`, `: this node does not serve the API group "${'x'.repeat(63)}"`],
  ['/api/v1/pods/web', ''],
  ['/metrics', ''],
])('%s', (path, message) => {
  expect(unserved(path, versions)).toMatchObject({
    code: 404,
    reason: 'NotFound',
    message: `${start}${message}`,
  });
});

it.each([
  ['pods/web/proxy', 'this node serves no "proxy" of pods; "kubectl port-forward" reaches a pod'],
  ['pods/web/proxy/metrics', 'this node serves no "proxy" of pods; "kubectl port-forward" reaches a pod'],
  ['resourcequotas', 'this node serves no "resourcequotas" in v1'],
  ['configmaps/web/status', 'this node serves no "status" of configmaps'],
])('%s', (path, message) => {
  const target = targetOf(new KindIndex(servedKinds), `/api/v1/namespaces/default/${path}`);
  if (target === undefined) throw new Error('it is no path of a kind');
  expect(unservedBelow(target).message).toBe(`${start}: ${message}`);
});

it('a new autoscaler is refused with a warning too', () => {
  const path = '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers';
  const response = (method: string) => unservedResponse(unserved(path, versions), { method, path });
  expect(response('POST').headers.Warning).toContain('299 - "the server could not find');
  expect(response('GET').headers.Warning).toBeUndefined();
});
