/** The hostPath plugin: a file or directory of the machine, named by the pod or by a persistent volume. */
import { type FileKind, type Host, type HostFiles, isHostError } from '../../host/index.js';
import type { HostPathVolumeSource } from '../../kube/index.js';
import type { VolumePlugin, VolumeSpec } from '../contracts.js';
import { hostPathProblem, hostPathVerdict } from './host-path-type.js';
import { innerNameOf } from './inner-name.js';

export function hostPathVolumes({ host }: { readonly host: Host }): VolumePlugin {
  return {
    name: 'kubernetes.io/host-path',
    refreshes: false,
    ownsDirectory: false,
    supportsMountOptions: false,
    accepts: (spec) => sourceOf(spec) !== undefined,
    innerName: innerNameOf,
    traits: (spec) => ({
      managed: false,
      readOnly: spec.kind === 'persistent' && spec.readOnly,
      relabel: false,
    }),
    hostPath: (spec) => sourceOf(spec)?.path,
    async setUp({ spec }) {
      const { path = '', type = '' } = sourceOf(spec) ?? {};
      const problem = hostPathProblem(path);
      if (problem !== undefined) throw new Error(problem);
      if (type === '') return;
      // A path of the machine may lie on anything, even a remote server.
      const { files } = host.apart(path);
      const verdict = hostPathVerdict(path, type, await kindAt(files, path));
      switch (verdict.kind) {
        case 'fine':
          return;
        case 'create-directory':
          return files.mkdir(path, { mode: 0o755, recursive: true });
        case 'create-file':
          return files.writeFile(path, '', { mode: 0o644, exclusive: true });
        case 'refused':
          throw new Error(verdict.message);
      }
    },
    // The machine's own files are not the pod's to remove.
    tearDown: async () => {},
  };
}

function sourceOf(spec: VolumeSpec): HostPathVolumeSource | undefined {
  return spec.kind === 'inline' ? spec.volume.hostPath : spec.persistentVolume.spec.hostPath;
}

async function kindAt(files: HostFiles, path: string): Promise<FileKind | undefined> {
  try {
    return (await files.stat(path)).kind;
  } catch (error) {
    if (isHostError(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw error;
  }
}
