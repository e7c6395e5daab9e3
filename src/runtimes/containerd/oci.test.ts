import { describe, expect, it } from 'vitest';
import { buildImage, type ImageSpec, splitReference, writeArchive } from './oci.js';

const spec: ImageSpec = {
  name: 'nodelet.test/some/thing:1',
  layers: [[{ type: 'file', path: 'a', content: 'a' }], [{ type: 'file', path: 'b', content: 'b' }]],
  config: { entrypoint: ['/a'], user: '1000', volumes: ['/data'] },
};
const json = (content: Buffer): unknown => JSON.parse(content.toString());

describe('buildImage', () => {
  it('links manifest, config and layers by digest', () => {
    const image = buildImage(spec);
    expect(json(image.manifest.content)).toMatchObject({
      schemaVersion: 2,
      config: { digest: image.config.digest, size: image.config.content.length },
      layers: image.layers.map(({ digest, content }) => ({ digest, size: content.length })),
    });
    expect(json(image.config.content)).toMatchObject({
      os: 'linux',
      config: { Entrypoint: ['/a'], User: '1000', Volumes: { '/data': {} } },
      rootfs: { type: 'layers', diff_ids: image.layers.map(({ digest }) => digest) },
    });
  });

  it('names layers by their uncompressed content when they are compressed', () => {
    const [plain, zipped] = [buildImage(spec), buildImage({ ...spec, gzip: true })];
    expect(json(zipped.config.content)).toEqual(json(plain.config.content));
    expect(zipped.layers[0]!.digest).not.toBe(plain.layers[0]!.digest);
  });

  it('gives the same digests every time', () => {
    expect(writeArchive([buildImage(spec)]).equals(writeArchive([buildImage(spec)]))).toBe(true);
  });
});

describe('splitReference', () => {
  it.each([
    ['nodelet.test/busybox:1', { host: 'nodelet.test', repository: 'busybox', tag: '1' }],
    ['127.0.0.1:5000/a/b:v1.2', { host: '127.0.0.1:5000', repository: 'a/b', tag: 'v1.2' }],
    ['localhost/a:1', { host: 'localhost', repository: 'a', tag: '1' }],
  ])('%s', (name, expected) => {
    expect(splitReference(name)).toEqual(expected);
  });

  it.each([['busybox:1'], ['nodelet.test/busybox'], ['library/busybox:1']])('rejects %s', (name) => {
    expect(() => splitReference(name)).toThrow('must name a host, a repository and a tag');
  });
});
