/** One secret volume, whose work a child process is killed in and the test takes up again. */
import type { Clock } from '../../src/async/index.js';
import type { Host } from '../../src/host/index.js';
import type { ObjectStore, Pod } from '../../src/kube/index.js';
import type { VolumeSpec } from '../../src/volumes/contracts.js';
import { volumePlugins } from '../../src/volumes/plugins/index.js';

export type Version = 'old' | 'new';
export type Work = 'setUp' | 'tearDown';

export const isWork = (text: string): text is Work => text === 'setUp' || text === 'tearDown';
export const isVersion = (text: string): text is Version => text === 'old' || text === 'new';

export const contents: Readonly<Record<Version, Readonly<Record<string, string>>>> = {
  old: { a: 'old', gone: 'old' },
  new: { a: 'new', came: 'new' },
};

const pod: Pod = {
  metadata: { name: 'p', namespace: 'ns', uid: 'u' },
  spec: { containers: [{ name: 'c' }], securityContext: { fsGroup: 7 } },
};
const spec: VolumeSpec = {
  kind: 'inline',
  volume: { name: 'v', secret: { secretName: 's', defaultMode: 0o400 } },
};

export function secretVolume(host: Host, clock: Clock, rootDir: string) {
  const pluginWith = (version: Version) => {
    const data = Object.fromEntries(
      Object.entries(contents[version]).map(([key, text]) => [key, Buffer.from(text).toString('base64')]),
    );
    const objects: ObjectStore = {
      registerPod: () => {},
      unregisterPod: () => {},
      configMap: async () => ({ metadata: {} }),
      secret: async () => ({ metadata: {}, data }),
    };
    const nodeAllocatable = () => ({ memory: '64Mi' });
    const plugin = volumePlugins({ host, clock, rootDir, objects, nodeAllocatable }).find(({ accepts }) =>
      accepts(spec),
    );
    if (plugin === undefined) throw new Error('no plugin');
    return plugin;
  };
  const { signal } = new AbortController();
  return {
    path: pluginWith('old').hostPath(spec, 'u') ?? '',
    setUp: (version: Version) => pluginWith(version).setUp({ pod, spec, isRemount: false, signal }),
    tearDown: (_version: Version) => pluginWith('old').tearDown({ podUid: 'u', innerName: 'v' }),
  };
}
