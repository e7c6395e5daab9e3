import { expect, it } from 'vitest';
import { applyPodDefaults, type Pod, type PodSpec } from '../../kube/index.js';
import type { PressureCondition } from '../../resources/eviction/index.js';
import type { AdmissionOperation } from './admission.js';
import { withoutPressure } from './pressure.js';

const pod = (spec: Partial<PodSpec> = {}, annotations: Record<string, string> = {}): Pod => {
  const made = applyPodDefaults({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', annotations },
    spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
  });
  return { ...made, metadata: { ...made.metadata, name: 'p', namespace: 'default', uid: 'u' } };
};
const plain = pod();
const tolerating = pod({ tolerations: [{ key: 'node.kubernetes.io/memory-pressure', operator: 'Exists' }] });
const asking = pod({
  containers: [{ name: 'c', image: 'i', resources: { requests: { memory: '1Mi' } } }],
});
const isStatic = pod({}, { 'kubernetes.io/config.source': 'file' });
const critical = pod({ priority: 2_000_000_000 });

it.each<[string, readonly PressureCondition[], Pod, boolean, boolean?, AdmissionOperation?]>([
  ['no pressure', [], plain, true],
  ['memory: a pod without requests', ['MemoryPressure'], plain, false],
  ['memory: one that tolerates it', ['MemoryPressure'], tolerating, true],
  ['memory: one with a request', ['MemoryPressure'], asking, true],
  ['memory and disk: one that tolerates the first', ['DiskPressure', 'MemoryPressure'], tolerating, false],
  ['disk: one with a request', ['DiskPressure'], asking, false],
  ['disk: a static pod', ['DiskPressure'], isStatic, true],
  ['processes: one with a request', ['PIDPressure'], asking, false],
  ['processes: a critical pod', ['PIDPressure', 'MemoryPressure'], critical, true],
  ['disk: one that runs since before the agent started', ['DiskPressure'], plain, true, true],
  ['disk: the resize of a pod that runs', ['DiskPressure'], asking, false, true, 'resize'],
  ['disk: the resize of a critical pod', ['DiskPressure'], critical, true, true, 'resize'],
])('%s', (_rule, conditions, given, admits, runs = false, operation = 'add') => {
  const handler = withoutPressure({ conditions: () => conditions, runsHere: () => runs });
  expect(handler.admit({ pod: given, others: [], operation })).toEqual(
    admits
      ? { admit: true }
      : { admit: false, reason: 'Evicted', message: `The node had condition: [${conditions.join(' ')}]. ` },
  );
});
