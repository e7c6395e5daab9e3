/** Builds what gives pods their user ids; absent where pods have no directories to remember them in. */
import { idMappingsInForce, UserNamespaces } from '../../runtime-manager/userns/index.js';
import type { KubeletSettings } from '../settings.js';

const defaultIdsPerPod = 65_536;

export function createUserNamespaces(
  settings: Pick<KubeletSettings, 'podDirectories' | 'rootDir' | 'timeline' | 'durable' | 'cri' | 'config'>,
  { isSupported }: { readonly isSupported: (runtimeHandler: string) => boolean },
): UserNamespaces | undefined {
  const { podDirectories, rootDir, timeline, durable, cri, config } = settings;
  if (!podDirectories) return undefined;
  return new UserNamespaces({
    rootDir,
    timeline,
    store: durable,
    inForce: (uid) => idMappingsInForce(cri, uid),
    idsPerPod: config.userNamespaces?.idsPerPod ?? defaultIdsPerPod,
    blocks: config.maxPods,
    isSupported,
  });
}
