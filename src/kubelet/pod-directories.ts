/** The folders that the agent and its pods have below the agent's root. */
import path from 'node:path';
import type { HostFiles } from '../host/index.js';

/** For their owner and group, as what is in them is not everybody's business. */
const ownerAndGroup = 0o750;

/** Makes a pod's folders; those that exist stay as they are. */
export async function makePodDirectories(files: HostFiles, rootDir: string, uid: string): Promise<void> {
  if (path.basename(uid) !== uid || uid === '.' || uid === '..' || uid === '') {
    throw new Error(`"${uid}" cannot name a pod's folder`);
  }
  const pod = path.join(rootDir, 'pods', uid);
  for (const folder of [pod, path.join(pod, 'volumes'), path.join(pod, 'plugins')]) {
    await files.mkdir(folder, { recursive: true, mode: ownerAndGroup });
  }
}

/** Makes the folders that every agent has. */
export async function makeRootDirectories(files: HostFiles, rootDir: string): Promise<void> {
  const below = ['pods', 'plugins', 'plugins_registry', 'pod-resources'].map((name) =>
    path.join(rootDir, name),
  );
  for (const folder of [rootDir, ...below])
    await files.mkdir(folder, { recursive: true, mode: ownerAndGroup });
  await files.mkdir(path.join(rootDir, 'checkpoints'), { recursive: true, mode: 0o700 });
}
