/** Maintains the mirrors of static pods in the API, so that users of the cluster see them. */
import { type Clock, isCancelled, sleep } from '../../async/index.js';
import {
  configHashAnnotation,
  configMirrorAnnotation,
  isStaticPod,
  type Node,
  type Pod,
  parsePodFullName,
  podFullName,
} from '../../kube/index.js';
import { isAlreadyExists, isConflict, isNotFound, type KubeApi, resources } from '../../kube-client/index.js';
import { podRef, type Timeline } from '../../timeline/index.js';
import { creationHindrance, mirrorOfStaticPod, mirrorStep } from './decisions.js';

export interface ApiMirrorPodsOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly api: KubeApi;
  /** This node's object as last seen in the API; undefined before that. */
  readonly node: () => Node | undefined;
  /** Cancels running calls. */
  readonly signal?: AbortSignal;
}

const nodePollMs = 100;
/** The static pod's sync waits for these calls, and must go on without the API. */
const callLimitMs = 10_000;

export class ApiMirrorPods {
  readonly #options: ApiMirrorPodsOptions;

  constructor(options: ApiMirrorPodsOptions) {
    this.#options = options;
  }

  /** Creates or replaces the mirror of a static pod that is alive as needed; failures are reported, not thrown. */
  async reconcile(pod: Pod, mirror: Pod | undefined): Promise<void> {
    await this.#reconcile(pod, mirror, true);
  }

  async #reconcile(pod: Pod, mirror: Pod | undefined, isAlive: boolean): Promise<void> {
    if (!isStaticPod(pod)) return;
    const step = mirrorStep(pod, mirror, isAlive);
    if (step.kind === 'keep') return;
    try {
      if (step.kind === 'replace') {
        const isDeleted = await this.#delete(podFullName(pod), step.because, step.uid);
        if (!isDeleted) return;
      }
      await this.#create(pod);
    } catch (error) {
      if (isCancelled(error)) return;
      this.#options.timeline.record({
        kind: 'problem',
        what: 'mirror.create',
        message: 'the mirror of the static pod could not be created; the next sync retries',
        pod: podRef(pod),
        error,
      });
    }
  }

  /** Deletes the mirror of that name, whatever its UID; rejects only for an invalid name. */
  async delete(fullName: string): Promise<void> {
    await this.#delete(fullName, 'there is no static pod of its name');
  }

  /**
   * Creates the mirrors of the current static pods as soon as the node is in the API, without waiting for a
   * sync.
   */
  async registerSoon(
    pods: { list(): readonly Pod[]; mirrorOf(pod: Pod): Pod | undefined },
    signal: AbortSignal,
  ): Promise<void> {
    while (this.#options.node() === undefined) await sleep(this.#options.clock, nodePollMs, signal);
    for (const pod of pods.list()) await this.#reconcile(pod, pods.mirrorOf(pod), false);
  }

  async #create(pod: Pod): Promise<void> {
    const { api, node: nodeNow, timeline, signal } = this.#options;
    const node = nodeNow();
    const hindrance = creationHindrance(node);
    if (node === undefined || hindrance !== undefined) {
      const skipped = { message: 'no mirror is created', because: hindrance ?? '' };
      timeline.record({
        kind: 'decision',
        what: 'mirror.skip',
        ...skipped,
        pod: podRef(pod),
        level: 'debug',
      });
      return;
    }
    const call = { timeoutMs: callLimitMs, ...(signal === undefined ? {} : { signal }) };
    try {
      await api.create(resources.pods, mirrorOfStaticPod(pod, node), call);
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      const { name, namespace } = pod.metadata;
      const existing = await api.get(resources.pods, { namespace, name }, call);
      const hash = pod.metadata.annotations?.[configHashAnnotation];
      // Created before; the response was lost, or the watch has not delivered it yet.
      if (existing.metadata.annotations?.[configMirrorAnnotation] === hash) return;
      throw error;
    }
    timeline.record({
      kind: 'effect',
      what: 'mirror.create',
      message: 'a mirror of the static pod was created in the API',
      pod: podRef(pod),
    });
  }

  /** Returns whether this call deleted it. */
  async #delete(fullName: string, because: string, uid?: string): Promise<boolean> {
    const { api, timeline, signal } = this.#options;
    const { name, namespace } = parsePodFullName(fullName);
    try {
      await api.delete(
        resources.pods,
        { namespace, name },
        {
          gracePeriodSeconds: 0,
          timeoutMs: callLimitMs,
          ...(uid === undefined ? {} : { preconditions: { uid } }),
          ...(signal === undefined ? {} : { signal }),
        },
      );
    } catch (error) {
      if (isCancelled(error) || isNotFound(error) || isConflict(error)) return false;
      timeline.record({
        kind: 'problem',
        what: 'mirror.delete',
        message: `the mirror ${fullName} could not be deleted`,
        error,
      });
      return false;
    }
    timeline.record({
      kind: 'effect',
      what: 'mirror.delete',
      message: `the mirror ${fullName} was deleted from the API`,
      because,
    });
    return true;
  }
}
