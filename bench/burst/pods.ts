/** The pods of a burst: what most pods have, and a container that ends as soon as it is told to. */
import type { Pod } from '../../src/kube/index.js';
import { testImages } from '../../test/env/index.js';
import { namespace } from '../cluster/visit.js';

const container = {
  name: 'main',
  image: testImages.pause,
  imagePullPolicy: 'IfNotPresent',
  resources: { requests: { cpu: '1m', memory: '4Mi' }, limits: { memory: '64Mi' } },
} as const;

/** On a node that was chosen already; the API gives it the token of its account. */
export function burstPod(name: string, nodeName: string): Pod {
  return { metadata: { uid: 'u', name, namespace }, spec: { nodeName, containers: [container] } };
}

/** The same as a file; it has no account. */
export function burstManifest(name: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace },
    spec: { containers: [container] },
  };
}
