/** The socket of a bare node, for the commands of its owner: what a run serves on its own. */
import { kubernetesVersion, type RunningKubelet } from '../agent/index.js';
import type { Clock } from '../async/index.js';
import { type ServerListener, startLocalServer } from '../server/index.js';
import type { Timeline } from '../timeline/index.js';
import { bareNodeSocket } from './socket-path.js';

export interface BareNodeSocketOptions {
  readonly stateDir: string;
  readonly clock: Clock;
  readonly timeline: Timeline;
}

/** Undefined where it cannot be opened: the node does without, and the timeline tells why. */
export async function openLocalServer(
  kubelet: RunningKubelet,
  { stateDir, clock, timeline }: BareNodeSocketOptions,
): Promise<ServerListener | undefined> {
  try {
    return await startLocalServer(kubelet, {
      socketPath: bareNodeSocket(stateDir),
      timeline: kubelet.timeline,
      clock,
      stats: kubelet.stats,
      version: kubernetesVersion,
      info: { runtime: 'bare node' },
      stop: () => Promise.reject(new Error('the pods of a bare node are deleted with kubectl')),
    });
  } catch (error) {
    timeline.record({
      kind: 'problem',
      what: 'server.local',
      message: 'the commands of this user cannot reach the node: its socket could not be opened',
      level: 'warn',
      error,
    });
    return undefined;
  }
}
