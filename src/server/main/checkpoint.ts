/** `/checkpoint`: makes the runtime write a running container into an archive. */
import { chmod, mkdir } from 'node:fs/promises';
import path from 'node:path';
import { type Clock, errorText } from '../../async/index.js';
import { CriError, type CriRuntime } from '../../cri/index.js';
import { findPodContainer } from '../../kube/index.js';
import type { ApiKubelet } from '../api/index.js';
import { findObservedPod, findPod, runningContainer } from '../api/running.js';
import { type RouteResponse, text } from '../responses.js';
import type { PathValues, Route, ServerRequest } from '../routes.js';

export interface CheckpointOptions {
  readonly kubelet: Pick<ApiKubelet, 'pods' | 'runningPods'>;
  readonly checkpoint: CriRuntime['checkpointContainer'] | undefined;
  readonly rootDir: string;
  readonly clock: Clock;
}

export function checkpointRoute(options: CheckpointOptions): Route {
  return {
    kind: 'template',
    path: '/checkpoint',
    templates: [['namespace', 'pod', 'container']],
    methods: ['POST'],
    produces: 'application/json',
    handle: (request, values) => checkpoint(options, request, values),
  };
}

async function checkpoint(
  { kubelet, checkpoint: write, rootDir, clock }: CheckpointOptions,
  { query, signal }: ServerRequest,
  { namespace = '', pod: name = '', container = '' }: PathValues,
): Promise<RouteResponse> {
  const pod = findPod(kubelet.pods(), namespace, name);
  if (pod === undefined) return text(404, 'pod does not exist');
  if (findPodContainer(pod, container) === undefined)
    return text(404, `container ${container} does not exist`);
  const timeoutSeconds = timeoutOf(query);
  if (timeoutSeconds === undefined) return text(404, 'cannot parse value of timeout parameter');
  const failed = (why: string): RouteResponse =>
    text(500, `checkpointing of ${namespace}/${name}/${container} failed (${why})`);
  try {
    const running = runningContainer(
      findObservedPod(await kubelet.runningPods(), namespace, name),
      container,
    );
    if (running === undefined) return failed(`container ${container} not found`);
    if (write === undefined) throw new CriError('Unimplemented', 'the runtime does not support checkpoints');
    const dir = path.join(rootDir, 'checkpoints');
    await mkdir(dir, { recursive: true, mode: 0o700 });
    const taken = new Date(clock.now()).toISOString().replace(/\.\d+Z$/, 'Z');
    const location = path.join(dir, `checkpoint-${name}_${namespace}-${container}-${taken}.tar`);
    await write(
      { containerId: running.id, location, timeout: timeoutSeconds },
      signal === undefined ? {} : { signal },
    );
    // It contains the memory of a process.
    await chmod(location, 0o600);
    return {
      status: 200,
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ items: [location] }),
    };
  } catch (error) {
    return failed(errorText(error));
  }
}

/** The last value wins; 0 leaves it to the runtime. Undefined: not a number. */
function timeoutOf(query: URLSearchParams): number | undefined {
  const given = query.getAll('timeout').at(-1);
  if (given === undefined) return 0;
  return /^\d{1,15}$/.test(given) ? Number(given) : undefined;
}
