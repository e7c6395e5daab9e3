import { expect, it } from 'vitest';
import { resolveFeatureGates } from '../../config/index.js';
import type { Pod } from '../../kube/index.js';
import { withoutGatedFields } from './gated-fields.js';

const rules = [{ action: 'Restart' as const, exitCodes: { operator: 'In' as const, values: [3] } }];
const fileKeyRef = { volumeName: 'v', path: 'env', key: 'K' };
const pod: Pod = {
  metadata: { name: 'p', namespace: 'n', uid: 'u' },
  spec: {
    resources: { requests: { cpu: '1' } },
    initContainers: [
      { name: 'sidecar', restartPolicy: 'Always' },
      { name: 'init', restartPolicy: 'OnFailure', restartPolicyRules: rules },
    ],
    containers: [
      {
        name: 'app',
        restartPolicy: 'Never',
        restartPolicyRules: rules,
        env: [
          { name: 'FILE', valueFrom: { fileKeyRef } },
          { name: 'PLAIN', value: 'x' },
        ],
      },
    ],
    ephemeralContainers: [{ name: 'debug', env: [{ name: 'FILE', valueFrom: { fileKeyRef } }] }],
  },
};
const gatesWithout = (...names: string[]) =>
  resolveFeatureGates({
    DRANodeAllocatableResources: true,
    ...Object.fromEntries(names.map((name) => [name, false])),
  }).gates;

it('leaves pods alone while every gate is on', () => {
  expect(withoutGatedFields(gatesWithout())).toBeUndefined();
});

it('does not see what claims take of the node by default', () => {
  const change = withoutGatedFields(resolveFeatureGates({}).gates)!;
  expect(change(pod)).toBe(pod);
  const claims = [{ resourceClaimName: 'c', mapping: [{ name: 'cpu', quantity: '1' }] }];
  const claiming: Pod = {
    ...pod,
    status: { nodeAllocatableResourceClaimStatuses: claims, phase: 'Pending' },
  };
  expect(change(claiming).status).toEqual({ phase: 'Pending' });
});

it('lets the pod decide on restarts, and keeps sidecars', () => {
  const change = withoutGatedFields(
    gatesWithout('ContainerRestartRules', 'RestartAllContainersOnContainerExits'),
  );
  const { spec } = change!(pod);
  expect(spec.initContainers).toEqual([{ name: 'sidecar', restartPolicy: 'Always' }, { name: 'init' }]);
  expect(spec.containers).toEqual([{ name: 'app', env: pod.spec.containers[0]!.env }]);
  expect(spec.resources).toEqual(pod.spec.resources);
});

it('leaves variables from files empty', () => {
  const { spec } = withoutGatedFields(gatesWithout('EnvFiles'))!(pod);
  expect(spec.containers[0]?.env).toEqual([{ name: 'FILE' }, { name: 'PLAIN', value: 'x' }]);
  expect(spec.ephemeralContainers?.[0]?.env).toEqual([{ name: 'FILE' }]);
  expect(spec.containers[0]?.restartPolicyRules).toEqual(rules);
});

it('makes the same object of the same pod', () => {
  const change = withoutGatedFields(gatesWithout('EnvFiles'))!;
  expect(change(pod)).toBe(change(pod));
  expect(change({ ...pod })).not.toBe(change(pod));
});
