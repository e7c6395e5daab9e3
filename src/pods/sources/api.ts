/** The API source: the pods bound to this node. */

import type { Pod, PodManifest } from '../../kube/index.js';
import { Informer, type KubeApi, resources } from '../../kube-client/index.js';
import { type PodSource, ProblemReports, type SourceContext } from './source.js';

export interface ApiSourceOptions extends Pick<SourceContext, 'clock' | 'timeline' | 'deliver'> {
  readonly api: KubeApi;
  readonly nodeName: string;
  /** Resolves when our Node has been read, which pod admission needs. */
  readonly nodeSynced: (signal: AbortSignal) => Promise<void>;
  readonly random?: () => number;
}

export class ApiSource implements PodSource {
  readonly #options: ApiSourceOptions;
  readonly #problems: ProblemReports;

  constructor(options: ApiSourceOptions) {
    this.#options = options;
    this.#problems = new ProblemReports(options.timeline, 'pods.api');
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, api, nodeName, nodeSynced, deliver, random } = this.#options;
    await nodeSynced(signal);
    const informer: Informer<Pod> = new Informer({
      clock,
      api,
      resource: resources.pods,
      fieldSelector: `spec.nodeName=${nodeName}`,
      ...(random === undefined ? {} : { random }),
      // Every list and every event says what the pods of this node are now, an empty list too.
      onUpdate: (_, stop) => deliver({ source: 'api', pods: this.#withIdentity(informer.list()) }, stop),
      onProblem: (error, then) =>
        this.#problems.report(place, error, `${then}; the pods known before stay as they are`),
      onRecovered: () => this.#problems.clear(place),
    });
    await informer.run(signal);
  }

  /** What the type promises of a pod is here only what the server wrote, and all of the node relies on it. */
  #withIdentity(pods: readonly Pod[]): readonly Pod[] {
    const incomplete = pods.flatMap((pod) => missingIdentity(pod) ?? []);
    if (incomplete.length === 0) {
      this.#problems.clear(identityPlace);
      return pods;
    }
    this.#problems.report(identityPlace, incomplete.join(', '), 'such a pod is left out');
    return pods.filter((pod) => missingIdentity(pod) === undefined);
  }
}

/** One place for all reports: the message names the failed request. */
const place = 'the API server';
const identityPlace = 'the identity check of API pods';

/** Such as `pod "default/web" has no uid`; undefined for a pod that has all. */
function missingIdentity({ metadata }: PodManifest): string | undefined {
  const { uid, name, namespace } = metadata;
  const missing = Object.entries({ uid, name, namespace }).flatMap(([field, value]) =>
    value ? [] : [field],
  );
  if (missing.length === 0) return undefined;
  return `pod "${namespace ?? ''}/${name ?? ''}" has no ${missing.join(' and no ')}`;
}
