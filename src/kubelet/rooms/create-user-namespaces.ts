/** Builds what gives pods their user ids; absent where pods have no directories to remember them in. */
import {
  idMappingsInForce,
  idPool,
  readSubordinateIds,
  UserNamespaces,
} from '../../runtime-manager/userns/index.js';
import type { KubeletSettings } from '../settings.js';

const defaultIdsPerPod = 65_536;

export function createUserNamespaces(
  settings: Pick<
    KubeletSettings,
    | 'podDirectories'
    | 'rootDir'
    | 'timeline'
    | 'durable'
    | 'cri'
    | 'config'
    | 'isOwnMachine'
    | 'stopping'
    | 'outside'
  >,
  { isSupported }: { readonly isSupported: (runtimeHandler: string) => boolean },
): UserNamespaces | undefined {
  const { podDirectories, rootDir, timeline, durable, cri, config, isOwnMachine, stopping } = settings;
  if (!podDirectories) return undefined;
  const { maxPods } = config;
  const { outside } = settings;
  const ids = outside.port('subordinate ids', () => ({
    read: (signal: AbortSignal) =>
      readSubordinateIds({ clock: outside.clock, timeline: outside.timeline(timeline), signal }),
  }));
  const idsPerPod = config.userNamespaces?.idsPerPod ?? defaultIdsPerPod;
  return new UserNamespaces({
    rootDir,
    timeline,
    store: durable,
    inForce: (uid) => idMappingsInForce(cri, uid),
    idsPerPod,
    pool: async () => {
      const { signal } = stopping;
      const assigned = isOwnMachine ? await ids.read(signal) : undefined;
      return idPool(assigned, { idsPerPod, maxPods });
    },
    isSupported,
  });
}
