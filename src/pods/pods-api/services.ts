/** The pods API: what each of its calls answers, and what its watchers are told. */
import type { Clock } from '../../async/index.js';
import { asGrpcError, type CallOptions, CallRate, GrpcError, type GrpcService } from '../../grpc/index.js';
import type { Pod, PodStatus } from '../../kube/index.js';
import {
  type GetPodRequest,
  type GetPodResponse,
  type ListPodsRequest,
  type ListPodsResponse,
  PodEventType,
  Pods,
  type WatchPodsEvent,
  type WatchPodsRequest,
} from './gen/pods-api.js';
import type { PodsApiMetrics } from './metrics.js';
import { PodBytes } from './pod-bytes.js';
import { changeOf, podMessage } from './served-pod.js';
import { PodWatchers } from './watchers.js';

export interface PodsApiOptions {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly metrics: PodsApiMetrics;
  readonly allSourcesReady: () => boolean;
  /** All that are configured, ended ones too, and no mirrors. */
  readonly pods: () => readonly Pod[];
  readonly podOf: (uid: string) => Pod | undefined;
  /** The kubelet's own status; undefined before the first. */
  readonly statusOf: (uid: string) => PodStatus | undefined;
  /** Told once of a pod that cannot be sent. */
  readonly onMisfit: (pod: Pod, error: unknown) => void;
}

export interface PodsApi {
  readonly services: readonly GrpcService[];
  /** A status that the kubelet took: the `version`th of the pod since the start. */
  statusChanged(uid: string, status: PodStatus, version: number): void;
  /** Nothing of the pod is left on the node. */
  finished(pod: { readonly uid: string; readonly name: string; readonly namespace: string }): void;
  /** Cuts off the watchers. */
  close(): void;
}

type CallKind = 'lists' | 'gets' | 'watches';
const noPod = new Uint8Array(0);

function codeName(error: unknown): string {
  return asGrpcError(error).codeName;
}

export function createPodsApi(options: PodsApiOptions): PodsApi {
  const { metrics, podOf, statusOf } = options;
  const rate = new CallRate(options.clock);
  const bytes = new PodBytes(options.onMisfit);
  const watchers = new PodWatchers(() => metrics.droppedEvents.inc());

  const count = (kind: CallKind, statusCode: string): void => {
    const labels = { server_api_version: 'v1alpha1', status_code: statusCode };
    metrics.requests.inc(labels);
    metrics[kind].inc(labels);
  };
  const judgeReady = (): void => {
    if (!options.allSourcesReady()) throw new GrpcError('FailedPrecondition', 'Kubelet is initializing');
  };
  /** A call that comes too fast is not counted. */
  const unary = async <T>(kind: CallKind, answer: () => T): Promise<T> => {
    rate.admit();
    try {
      judgeReady();
      const answered = answer();
      count(kind, 'OK');
      return answered;
    } catch (error) {
      count(kind, codeName(error));
      throw error;
    }
  };
  const bytesOf = (pod: Pod): Uint8Array | undefined => bytes.of(pod, statusOf(pod.metadata.uid));
  const inOrder = (): readonly Pod[] =>
    [...options.pods()].sort((a, b) => (a.metadata.uid < b.metadata.uid ? -1 : 1));

  async function* watch(signal: AbortSignal | undefined): AsyncGenerator<WatchPodsEvent> {
    judgeReady();
    // Joined first, so that no change is lost; a pod that changes meanwhile comes twice.
    const watcher = watchers.join();
    try {
      for (const { metadata } of inOrder()) {
        const pod = podOf(metadata.uid);
        const found = pod && bytesOf(pod);
        if (found !== undefined) yield { type: PodEventType.ADDED, pod: found };
      }
      yield { type: PodEventType.INITIAL_SYNC_COMPLETE, pod: noPod };
      for (;;) yield await watcher.next(signal);
    } finally {
      watcher.leave();
    }
  }

  return {
    services: [
      {
        methods: Pods,
        implementation: {
          listPods: (_: ListPodsRequest): Promise<ListPodsResponse> =>
            unary('lists', () => ({ pods: inOrder().flatMap((pod) => bytesOf(pod) ?? []) })),
          getPod: ({ podUID }: GetPodRequest): Promise<GetPodResponse> =>
            unary('gets', () => {
              const pod = podOf(podUID);
              const found = pod && bytesOf(pod);
              if (found === undefined) throw new GrpcError('NotFound', `pod with UID ${podUID} not found`);
              return { pod: found };
            }),
          async *watchPods(_: WatchPodsRequest, { signal }: CallOptions): AsyncGenerator<WatchPodsEvent> {
            // A client that goes ends the generator without an error.
            let code = 'Canceled';
            try {
              yield* watch(signal);
            } catch (error) {
              code = codeName(error);
              throw error;
            } finally {
              count('watches', code);
            }
          },
        },
      },
    ],
    statusChanged(uid, status, version) {
      const pod = watchers.isEmpty ? undefined : podOf(uid);
      const changed = pod && bytes.of(pod, status);
      if (pod === undefined || changed === undefined) return;
      const type = changeOf(pod, version) === 'added' ? PodEventType.ADDED : PodEventType.MODIFIED;
      watchers.send({ type, pod: changed });
    },
    finished({ uid, name, namespace }) {
      if (watchers.isEmpty) return;
      // Only who it was: the message has no more of it.
      const pod = podMessage.encode({ metadata: { uid, name, namespace } } as Pod);
      watchers.send({ type: PodEventType.DELETED, pod });
    },
    close: () => watchers.close(),
  };
}
