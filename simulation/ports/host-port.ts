/** The line between one process of a kubelet and the files and mounts of its machine. */
import { type AroundHostCall, HostError } from '../../src/host/index.js';
import type { EvictionStats } from '../../src/resources/eviction/index.js';
import type { Director } from './director.js';
import type { KubeletProcess } from './process.js';

/** Calls that need room on the disk. */
const growing: ReadonlySet<string> = new Set(['writeFile', 'mkdir', 'symlink', 'createFile', 'write']);

export function aroundHost(process: KubeletProcess, director: Director): AroundHostCall {
  return ({ operation, path, changing }, caller, effect) =>
    process.call({
      port: 'host',
      name: operation,
      about: path,
      isChange: changing,
      isRepeatable: false,
      signal: undefined,
      effect: () => {
        if (director.diskFull && growing.has(operation))
          throw new HostError('ENOSPC', path, `ENOSPC: no space left on device, ${operation} '${path}'`);
        return effect();
      },
      failure: (code) => new HostError(code, path, `${code}: by chance, ${operation} '${path}'`),
      lostAnswer: () => new HostError('EIO', path, `EIO: i/o error, ${operation} '${path}'`),
      givenUp: () => new HostError('ETIMEDOUT', path, `ETIMEDOUT: ${path} does not answer`),
      // A call that is made apart is given up; any other waits as long as the disk hangs.
      ...(caller === 'apart' ? { patienceMs: 30_000 } : {}),
    });
}

/** What the process sees of how full its machine is. */
export function observedThrough(stats: EvictionStats, process: KubeletProcess): EvictionStats {
  const look = <T>(name: string, effect: () => Promise<T>): Promise<T> =>
    process.call({
      port: 'host',
      name,
      about: '',
      isChange: false,
      isRepeatable: true,
      signal: undefined,
      effect,
      failure: (code) => new HostError(code, '/proc', `${code}: by chance, ${name}`),
      lostAnswer: () => new HostError('EIO', '/proc', `EIO: i/o error, ${name}`),
      givenUp: () => new HostError('ETIMEDOUT', '/proc', `ETIMEDOUT: ${name}`),
    });
  return {
    fileSystems: () => look('file systems', () => stats.fileSystems()),
    observe: async () => {
      const { figures, pods } = await look('observe', () => stats.observe());
      return { figures, pods: () => look('observe pods', pods) };
    },
  };
}
