/** A whole kubelet on a disk that refuses writes: it lives, says so, its pods go on, and everything is written afterwards. */
import { afterEach, describe, expect, it } from 'vitest';
import type { HostCall } from '../../src/host/index.js';
import type { Pod, Volume } from '../../src/kube/index.js';
import { endNodes, minute, second } from './node.js';
import { apiPod } from './pods.js';
import { configMap, Outside, rootDir, startVolumeNode, type VolumeNode, volumePath } from './volume-node.js';

afterEach(endNodes);

const codes = ['ENOSPC', 'EIO', 'EROFS', 'EMFILE'] as const;
const volumes: readonly Volume[] = [
  { name: 'scratch', emptyDir: {} },
  { name: 'settings', configMap: { name: 'settings' } },
];
const given = { configMaps: [configMap('settings', { color: 'red' })] };

function podOf(name: string): Pod {
  const volumeMounts = volumes.map((volume) => ({ name: volume.name, mountPath: `/${volume.name}` }));
  const resources = { limits: { memory: '64Mi' } };
  return apiPod(name, {
    containers: [{ name: 'app', image: 'app:1', volumeMounts, resources }],
    spec: { volumes: [...volumes] },
  });
}

const isWrite = ({ changing, path }: HostCall): boolean => changing && path.startsWith(rootDir);

async function expectWritten({ host }: VolumeNode, pods: readonly Pod[]): Promise<void> {
  const outside = new Outside(host.machine);
  const state = await outside.text(`${rootDir}/actuated_pods_state`);
  for (const pod of pods) {
    expect(state).toContain(pod.metadata.uid);
    expect(await outside.text(`${volumePath(pod, 'configmap', 'settings')}/color`)).toBe('red');
  }
  expect((await outside.names(rootDir)).filter((name) => /tmp|corrupt/.test(name))).toEqual([]);
}

describe('a disk that refuses every write', () => {
  it.each(codes)(
    'with %s for a while',
    async (code) => {
      const started = await startVolumeNode();
      const { node, host, objects } = started;
      objects.set('test', given);
      const [old, web] = [podOf('old'), podOf('web')];
      node.set([old]);
      await node.untilReady('old');
      let isRefusing = true;
      host.inject({
        at: (call) => isRefusing && isWrite(call),
        when: 'before',
        effect: { kind: 'fail', code },
      });
      const before = node.entries.length;
      const calls = host.calls.length;
      node.set([old, web]);
      await node.advance(10 * minute);
      // It is told at the pod, with the file and the cause, and not at every try.
      const warnings = node.entries.filter(({ level, pod }) => level === 'warn' && pod?.name === 'web');
      expect(warnings.some(({ message, error = '' }) => `${message} ${error}`.includes(code))).toBe(true);
      expect(warnings.some(({ message, error = '' }) => `${message} ${error}`.includes(rootDir))).toBe(true);
      expect(host.calls.length - calls).toBeLessThan(2_000);
      const shown = node.entries.slice(before).filter(({ level }) => level === 'warn' || level === 'error');
      expect(shown.length).toBeLessThan(200);
      // The pod that ran goes on.
      expect(node.status('old')?.phase).toBe('Running');
      isRefusing = false;
      await node.untilReady('web');
      await node.advance(2 * minute);
      await expectWritten(started, [old, web]);
    },
    60_000,
  );
});

describe('a disk that refuses one write', () => {
  it('whichever it is, the pod runs and all is written', async () => {
    let refused = 0;
    for (let at = 1, isThrough = false; !isThrough; at++) {
      const started = await startVolumeNode();
      const { node, host, objects } = started;
      objects.set('test', given);
      const code = codes[at % codes.length] ?? 'EIO';
      const first = host.calls.length + at;
      let isRefused = false;
      host.inject({
        at: (call) => {
          const isMeant = !isRefused && isWrite(call) && call.number >= first;
          isRefused ||= isMeant;
          return isMeant;
        },
        when: 'before',
        effect: { kind: 'fail', code },
      });
      const pod = podOf('web');
      node.set([pod]);
      await node.untilReady('web');
      await node.advance(2 * minute + second);
      isThrough = !isRefused;
      if (isRefused) refused++;
      await expectWritten(started, [pod]);
      await endNodes();
      expect(at).toBeLessThan(200);
    }
    // The pod's directories, its volumes' content and the checkpoint.
    expect(refused).toBeGreaterThan(15);
  }, 240_000);
});
