/** What any `KubeApi` must do: one suite that the simulated and the real API server pass alike. */
import { afterAll, beforeAll, describe } from 'vitest';
import type { KubeApi } from '../../src/kube-client/index.js';
import { describeObjects } from './kube-api-contract-objects.js';
import { describePods } from './kube-api-contract-pods.js';
import { describeWatches } from './kube-api-contract-watches.js';

export interface KubeApiSubject {
  readonly api: KubeApi;
  /** A new namespace in which pods can be made. */
  newNamespace(): Promise<string>;
  /** Makes the server forget the changes so far. */
  forgetChanges(): Promise<void>;
  /** Breaks the connections of watches under way; absent where there are none to break. */
  cutWatches?(): Promise<void>;
  close(): Promise<void>;
}

export interface KubeApiContract {
  api(): KubeApi;
  subject(): KubeApiSubject;
  /** The namespace of this suite. */
  namespace(): string;
}

/** Adds the suite; `start` is called once, before its first test. */
export function describeKubeApiContract(name: string, start: () => Promise<KubeApiSubject>): void {
  describe(`Kubernetes API contract: ${name}`, () => {
    let subject: KubeApiSubject;
    let namespace = '';
    beforeAll(async () => {
      subject = await start();
      namespace = await subject.newNamespace();
    });
    afterAll(async () => {
      await subject?.close();
    });
    const contract: KubeApiContract = {
      api: () => subject.api,
      subject: () => subject,
      namespace: () => namespace,
    };
    describeObjects(contract);
    describePods(contract);
    describeWatches(contract);
  });
}
