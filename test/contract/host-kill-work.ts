/** The work on volumes in whose middle a process is killed. */
import { systemClock } from '../../src/async/index.js';
import type { Host } from '../../src/host/index.js';
import { writeAtomically } from '../../src/volumes/atomic-writer.js';
import { setVolumeOwnership } from '../../src/volumes/ownership/index.js';
import { cleanSubPaths, prepareSubPath } from '../../src/volumes/subpath/index.js';

export async function writeContent(host: Host, root: string, content: string): Promise<void> {
  const directory = `${root}/config`;
  const names = content === 'old' ? ['a', 'b/c', 'gone'] : ['a', 'b/c', 'added/x'];
  await writeAtomically({
    files: host.files,
    clock: systemClock,
    directory,
    payload: new Map(names.map((name) => [name, { data: content, mode: 0o400 }])),
    beforeSwitch: async () => {
      await setVolumeOwnership({
        host,
        clock: systemClock,
        directory,
        podUid: '',
        fsGroup: 1001,
        readOnly: true,
      });
    },
  });
}

export async function mountSubPaths(host: Host, root: string): Promise<void> {
  for (const [mountIndex, subPath] of ['dir', 'file', 'new/er'].entries()) {
    await prepareSubPath({
      host,
      podDirectory: `${root}/pod`,
      innerVolumeName: 'vol',
      containerName: 'main',
      mountIndex,
      volumePath: `${root}/volume`,
      subPath,
      volumeMountName: 'data',
    });
  }
}

export function unmountSubPaths(host: Host, root: string): Promise<void> {
  return cleanSubPaths({ host, podDirectory: `${root}/pod`, innerVolumeName: 'vol' });
}

/** All of it, one after another. */
export async function workOnVolumes(host: Host, root: string): Promise<void> {
  await writeContent(host, root, 'new');
  await mountSubPaths(host, root);
  await unmountSubPaths(host, root);
}
