/** Which images count as mounted. */
import { describe, expect, it } from 'vitest';
import type { Pod } from '../../kube/index.js';
import { makePod, makeStatus, running } from '../test-fixtures.js';
import { mountedImages } from './mounted-images.js';

const withVolume = (reference: string): Pod => ({
  metadata: { uid: 'a', name: 'a', namespace: 'default' },
  spec: { containers: [], volumes: [{ name: 'v', image: { reference } }] },
});

describe('mountedImages', () => {
  it('includes what containers mount', () => {
    const mounts = [
      { containerPath: '/data', hostPath: '/host' },
      { containerPath: '/image', hostPath: '', image: 'sha256:abc' },
    ];
    const status = makeStatus(makePod(), [running('app')]);
    const containers = status.containers.map((container) => ({ ...container, mounts }));
    expect([...mountedImages([{ ...status, containers }], [])]).toEqual(['sha256:abc']);
  });

  it.each<[string, string, string[]]>([
    ['a full name', 'registry.example/data:1', ['registry.example/data:1']],
    ['a short name', 'data', ['data', 'docker.io/library/data:latest']],
    [
      'a name with a digest',
      `r.example/d:1@sha256:${'a'.repeat(64)}`,
      [`r.example/d:1@sha256:${'a'.repeat(64)}`, 'r.example/d:1', `r.example/d@sha256:${'a'.repeat(64)}`],
    ],
    ['none', '', []],
    ['what is no name', '../x', ['../x']],
  ])('includes what desired pods will mount: %s', (_, reference, names) => {
    expect([...mountedImages([], [withVolume(reference)])].sort()).toEqual([...names].sort());
  });
});
