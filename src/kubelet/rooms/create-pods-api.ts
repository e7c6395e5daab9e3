/** Builds the server of the pods API, by which programs of the machine follow its pods. */

import { join } from 'node:path/posix';
import { errorText } from '../../async/index.js';
import { serveGrpc } from '../../grpc/index.js';
import {
  createPodsApi as createApi,
  createPodsApiMetrics,
  type PodsApi,
  type PodsApiOptions,
} from '../../pods/pods-api/index.js';
import { podRef } from '../../timeline/index.js';
import type { KubeletSettings } from '../settings.js';
import { type ServedSocket, servedSocket } from './served-socket.js';

export type PodsApiPorts = Pick<PodsApiOptions, 'allSourcesReady' | 'pods' | 'podOf' | 'statusOf'>;

type PodsApiSettings = Pick<
  KubeletSettings,
  'clock' | 'timeline' | 'registry' | 'gates' | 'rootDir' | 'isOwnMachine' | 'outside' | 'podDirectories'
>;

/** A watcher that is cut off at the end learns why, if it reads on. */
const closeGraceMs = 1000;

/** Undefined while the gate is off, and where a socket would be on another machine. */
export function createPodsApi(
  settings: PodsApiSettings,
  ports: PodsApiPorts,
): (ServedSocket & Pick<PodsApi, 'statusChanged' | 'finished'>) | undefined {
  const { clock, timeline, registry, gates, rootDir } = settings;
  const metrics = createPodsApiMetrics(registry);
  if (!gates.enabled('PodsAPI') || !settings.isOwnMachine || !settings.podDirectories) return undefined;
  const api = createApi({
    clock,
    metrics,
    ...ports,
    onMisfit: (pod, error) =>
      timeline.record({
        kind: 'problem',
        what: 'node.socket',
        level: 'warn',
        message: `The pods API leaves a pod out that protobuf cannot express: ${errorText(error)}`,
        pod: podRef(pod),
        error,
      }),
  });
  const socket = servedSocket({
    serve: settings.outside.port('pods socket', () => serveGrpc),
    timeline,
    name: 'The pods API',
    socketPath: join(rootDir, 'pods-api', 'pods-api.sock'),
    services: api.services,
    closeGraceMs,
    beforeClose: () => api.close(),
  });
  return {
    ...socket,
    statusChanged: (uid, status, version) => api.statusChanged(uid, status, version),
    finished: (pod) => api.finished(pod),
  };
}
