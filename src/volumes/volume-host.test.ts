import { describe, expect, it } from 'vitest';
import { liesOnNode } from './volume-host.js';

describe('volumes that are worked on apart', () => {
  const rows: readonly [rule: string, path: string, onNode: boolean][] = [
    ['an emptyDir lies on the node', '/r/pods/u/volumes/kubernetes.io~empty-dir/v', true],
    ['a Secret lies on the node', '/r/pods/u/volumes/kubernetes.io~secret/v', true],
    ['a share may be away', '/r/pods/u/volumes/kubernetes.io~nfs/v', false],
    ['a local volume may be anything', '/r/pods/u/volumes/kubernetes.io~local-volume/v', false],
    ['a driver mounts anything', '/r/pods/u/volumes/kubernetes.io~csi/v/mount', false],
    ['a folder of the machine may be anything', '/mnt/share', false],
    ['also below the folder of another pod', '/r/pods/other/volumes/kubernetes.io~empty-dir/v', false],
    ['a way up is none of them', '/r/pods/u/volumes/kubernetes.io~empty-dir/..', false],
  ];
  it.each(rows)('%s', (_, path, onNode) => expect(liesOnNode(path, '/r/pods/u')).toBe(onNode));
});
