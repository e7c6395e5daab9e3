/** Everything that can be observed of a simulated node, as one hash. */
import { createHash } from 'node:crypto';
import type { SimulatedMachine } from '../src/host/index.js';
import { simulatedHost } from '../src/host/index.js';
import type { SimulatedNode } from './world/simulated-node.js';

export async function stateHash(node: SimulatedNode): Promise<string> {
  const hash = createHash('sha256');
  const snapshot = node.api.snapshot();
  hash.update(`revision ${snapshot.revision}\n`);
  for (const [kind, objects] of snapshot.collections)
    for (const [key, object] of objects) hash.update(`${kind} ${key} ${JSON.stringify(object)}\n`);
  for (const { id, name, ready, ip } of node.runtime.allSandboxes)
    hash.update(`sandbox ${id} ${name} ${ready} ${ip}\n`);
  for (const { id, name, state } of node.runtime.allContainers)
    hash.update(`container ${id} ${name} ${state.kind} ${state.kind === 'exited' ? state.exitCode : ''}\n`);
  for (const line of await filesOf(node.files)) hash.update(`${line}\n`);
  return hash.digest('hex');
}

/** The mounts, and each entry below the root directory. */
export async function filesOf(machine: SimulatedMachine): Promise<readonly string[]> {
  const { files, mounts } = simulatedHost({ machine, rememberedCalls: 0 });
  const lines = (await mounts.list()).map(
    ({ target, fsType, source }) => `mount ${target} ${fsType} ${source}`,
  );
  const visit = async (path: string): Promise<void> => {
    for (const name of await files.readdir(path)) {
      const child = `${path}/${name}`;
      const { kind, mode, uid, gid } = await files.lstat(child);
      const content =
        kind === 'file'
          ? Buffer.from(await files.readFile(child)).toString('base64')
          : kind === 'symlink'
            ? await files.readlink(child)
            : '';
      lines.push(`${kind} ${child} ${mode} ${uid} ${gid} ${content}`);
      if (kind === 'directory') await visit(child);
    }
  };
  await visit('/var');
  return lines;
}
