import { describe, expect, it } from 'vitest';
import { liesOnNode } from './volume-host.js';

describe('volumes that need the host apart', () => {
  const rows: readonly [rule: string, path: string, onNode: boolean][] = [
    ['an emptyDir lies on the node', '/r/pods/u/volumes/kubernetes.io~empty-dir/v', true],
    ['a Secret lies on the node', '/r/pods/u/volumes/kubernetes.io~secret/v', true],
    ['a share may be unreachable', '/r/pods/u/volumes/kubernetes.io~nfs/v', false],
    ['a local volume may be anywhere', '/r/pods/u/volumes/kubernetes.io~local-volume/v', false],
    ['a CSI driver may mount anything', '/r/pods/u/volumes/kubernetes.io~csi/v/mount', false],
    ['a hostPath may be anywhere', '/mnt/share', false],
    ['so may the directory of another pod', '/r/pods/other/volumes/kubernetes.io~empty-dir/v', false],
    ['`..` does not name a volume', '/r/pods/u/volumes/kubernetes.io~empty-dir/..', false],
  ];
  it.each(rows)('%s', (_, path, onNode) => expect(liesOnNode(path, '/r/pods/u')).toBe(onNode));
});
