import { expect, it } from 'vitest';
import { KindIndex } from '../kube-api/http/target.js';
import { decideAccess, servedKinds, usageKinds } from '../kube-api/index.js';
import { accessRequest } from './access-request.js';

const kinds = new KindIndex([...servedKinds, ...usageKinds]);
const account = { name: 'system:serviceaccount:default:default', groups: ['system:authenticated'] };

it.each([
  ['GET', '/apis', true],
  ['GET', '/apis/metrics.k8s.io/v1beta1', true],
  ['GET', '/apis/metrics.k8s.io/v1beta1/pods', false],
  ['GET', '/apis/metrics.k8s.io/v1beta1/nodes/vm', false],
  ['GET', '/api/v1/secrets', false],
  ['GET', '/apis/apps/v1/namespaces/default/deployments/web/scale', false],
  ['POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', true],
])('an account that is no owner: %s %s', (method, path, isAllowed) => {
  const wanted = accessRequest(kinds, method, path, new URLSearchParams());
  expect(decideAccess(account, wanted).allowed).toBe(isAllowed);
});
