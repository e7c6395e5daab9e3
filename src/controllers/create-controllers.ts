/** Builds all controllers of one node on one API, and runs them together. */
import { type Clock, isCancelled, TaskGroup } from '../async/index.js';
import { type KubeApi, qualifiedPlural, type Resource } from '../kube-client/index.js';
import type { Timeline } from '../timeline/index.js';
import { createClaimBinder } from './claims/claim-binder.js';
import { createCronJobController } from './cron-job/cron-job-controller.js';
import { createDaemonSetController } from './daemon-set/daemon-set-controller.js';
import { createDeploymentController } from './deployment/deployment-controller.js';
import type { Controller, ControllerContext } from './driver/context.js';
import { ObjectCaches } from './driver/object-caches.js';
import { EventWriter } from './events/event-writer.js';
import type { ObjectEvents } from './events/object-events.js';
import { createGarbageCollector } from './garbage/garbage-collector.js';
import { createJobController } from './job/job-controller.js';
import { createNamespaceController } from './namespaces/namespace-controller.js';
import { createNodeBinder } from './node-binder/node-binder.js';
import { createReplicaSetController } from './replica-set/replica-set-controller.js';
import { defaultKinds } from './served-kinds.js';
import { createServiceAccountController } from './service-accounts/service-account-controller.js';
import { createStatefulSetController } from './stateful-set/stateful-set-controller.js';

export interface ControllersOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly timeline: Pick<Timeline, 'record'>;
  /** The node that pods are given to. */
  readonly nodeName: string;
  /** PEM of the certificates that vouch for the API; empty: namespaces get no bundle. */
  readonly rootCa: string;
  /** The kinds that the API serves: they go with their namespace and their owners. Default: those of a bare node. */
  readonly kinds?: readonly Resource[];
  /** Default: events are written to the API. */
  readonly events?: ObjectEvents;
}

export interface Controllers {
  /** Works until the signal aborts; rejects when a controller has a defect, after all others have ended. */
  run(signal: AbortSignal): Promise<void>;
}

export function createControllers(options: ControllersOptions): Controllers {
  const { api, clock, timeline, nodeName, rootCa, kinds = defaultKinds } = options;
  const caches = new ObjectCaches({
    api,
    clock,
    onProblem: (resource, error, then) =>
      timeline.record({
        kind: 'problem',
        what: 'controller.watch',
        level: 'warn',
        message: `The controllers cannot follow ${qualifiedPlural(resource)}: ${then}`,
        data: { resource: qualifiedPlural(resource) },
        error,
      }),
  });
  const writer = new EventWriter({ api, clock, timeline, nodeName });
  const context: ControllerContext = {
    api,
    clock,
    timeline,
    caches,
    events: options.events ?? writer,
    nodeName,
  };
  const controllers: readonly Controller[] = [
    createReplicaSetController(context),
    createDeploymentController(context),
    createStatefulSetController(context),
    createDaemonSetController(context),
    createJobController(context),
    createCronJobController(context),
    ...createClaimBinder(context),
    createGarbageCollector(context, kinds),
    createNodeBinder(context),
    createNamespaceController(context, kinds),
    createServiceAccountController(context, rootCa),
  ];

  async function run(signal: AbortSignal): Promise<void> {
    const failed: unknown[] = [];
    const stop = new AbortController();
    const tasks = new TaskGroup({
      signal,
      onError: (task, error) => {
        timeline.record({
          kind: 'problem',
          what: 'controller.task',
          message: `The task ${task} has a defect`,
          error,
        });
        failed.push(error);
        stop.abort();
      },
    });
    tasks.start('events', (inner) => writer.run(inner));
    for (const cache of caches.all())
      tasks.start(qualifiedPlural(cache.resource), (inner) => cache.run(inner));
    try {
      await caches.synced(AbortSignal.any([signal, stop.signal]));
      for (const { name, run: work } of controllers) tasks.start(name, work);
      await ended(AbortSignal.any([signal, stop.signal]));
    } catch (error) {
      if (!isCancelled(error)) throw error;
    } finally {
      await tasks.stop();
    }
    if (failed.length > 0) throw failed[0];
  }

  return { run };
}

function ended(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
