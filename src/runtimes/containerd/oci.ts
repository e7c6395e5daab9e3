/**
 * Builds container images from lists of files: the blobs of the OCI image format, and the archive that `ctr
 * images import` reads.
 */
import { createHash } from 'node:crypto';
import { arch } from 'node:process';
import { gzipSync } from 'node:zlib';
import { type TarEntry, writeTar } from './tar.js';

export interface ImageConfig {
  readonly entrypoint?: readonly string[];
  readonly cmd?: readonly string[];
  /** `NAME=value` each. */
  readonly env?: readonly string[];
  /** A user id or name, with or without `:group`. */
  readonly user?: string;
  readonly workingDir?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Paths that the image declares as volumes. */
  readonly volumes?: readonly string[];
  /** `8080/tcp` each. */
  readonly exposedPorts?: readonly string[];
  readonly stopSignal?: string;
}

export interface ImageSpec {
  /** Full reference with host and tag, as in `nodelet.test/busybox:1`. */
  readonly name: string;
  /** Lowest first. */
  readonly layers: readonly (readonly TarEntry[])[];
  readonly config: ImageConfig;
  /** Compress the layers with gzip, like images from outside. Default: no, which is faster. */
  readonly gzip?: boolean;
}

export interface Blob {
  readonly mediaType: string;
  /** `sha256:` and 64 hexadecimal digits. */
  readonly digest: string;
  readonly content: Buffer;
}

export interface OciImage {
  readonly name: string;
  readonly manifest: Blob;
  readonly config: Blob;
  readonly layers: readonly Blob[];
}

const mediaTypes = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar',
  gzipLayer: 'application/vnd.oci.image.layer.v1.tar+gzip',
} as const;

/** The machine's architecture as images name it. */
const architecture = arch === 'x64' ? 'amd64' : arch;

export function sha256Digest(content: Buffer | string): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`;
}

function blob(mediaType: string, content: Buffer): Blob {
  return { mediaType, digest: sha256Digest(content), content };
}

function jsonBlob(mediaType: string, value: unknown): Blob {
  return blob(mediaType, Buffer.from(JSON.stringify(value)));
}

function descriptor({ mediaType, digest, content }: Blob) {
  return { mediaType, digest, size: content.length };
}

/** Splits a full reference; throws when the host or the tag is missing. */
export function splitReference(name: string): { host: string; repository: string; tag: string } {
  const parts = /^([^/]*[.:][^/]*|localhost)\/([^:@]+):([\w.-]+)$/.exec(name);
  const [, host, repository, tag] = parts ?? [];
  if (host === undefined || repository === undefined || tag === undefined) {
    throw new Error(`${name} must name a host, a repository and a tag`);
  }
  return { host, repository, tag };
}

export function buildImage(spec: ImageSpec): OciImage {
  splitReference(spec.name);
  const tars = spec.layers.map((entries) => writeTar(entries));
  const layers = tars.map((tar) =>
    spec.gzip ? blob(mediaTypes.gzipLayer, gzipSync(tar)) : blob(mediaTypes.layer, tar),
  );
  const documents = imageDocuments({
    name: spec.name,
    config: spec.config,
    layers: layers.map(({ mediaType, digest, content }, index) => ({
      mediaType,
      digest,
      sizeBytes: content.length,
      diffId: sha256Digest(tars[index] ?? Buffer.alloc(0)),
    })),
  });
  return {
    name: spec.name,
    manifest: blob(mediaTypes.manifest, documents.manifest),
    config: blob(mediaTypes.config, documents.config),
    layers,
  };
}

export interface LayerDescription {
  /** Default: an uncompressed tar. */
  readonly mediaType?: string;
  readonly digest: string;
  readonly sizeBytes: number;
  /** The digest of the uncompressed tar. */
  readonly diffId: string;
}

export interface ImageDocuments {
  readonly manifest: Buffer;
  readonly config: Buffer;
  /** Lists this one image. */
  readonly index: Buffer;
}

/** The documents that describe layers, wherever those are stored. */
export function imageDocuments(spec: {
  readonly name: string;
  readonly layers: readonly LayerDescription[];
  readonly config: ImageConfig;
}): ImageDocuments {
  const { name, layers, config } = spec;
  const keySet = (keys: readonly string[] | undefined) =>
    keys && Object.fromEntries(keys.map((key) => [key, {}]));
  const configBlob = jsonBlob(mediaTypes.config, {
    architecture,
    os: 'linux',
    config: {
      User: config.user,
      ExposedPorts: keySet(config.exposedPorts),
      Env: config.env,
      Entrypoint: config.entrypoint,
      Cmd: config.cmd,
      Volumes: keySet(config.volumes),
      WorkingDir: config.workingDir,
      Labels: config.labels,
      StopSignal: config.stopSignal,
    },
    rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
  });
  const manifest = jsonBlob(mediaTypes.manifest, {
    schemaVersion: 2,
    mediaType: mediaTypes.manifest,
    config: descriptor(configBlob),
    layers: layers.map(({ mediaType = mediaTypes.layer, digest, sizeBytes }) => ({
      mediaType,
      digest,
      size: sizeBytes,
    })),
  });
  const index = Buffer.from(JSON.stringify(imageIndex([{ name, manifest }])));
  return { manifest: manifest.content, config: configBlob.content, index };
}

function imageIndex(images: readonly Pick<OciImage, 'name' | 'manifest'>[]): object {
  return {
    schemaVersion: 2,
    mediaType: mediaTypes.index,
    manifests: images.map((image) => ({
      ...descriptor(image.manifest),
      annotations: {
        'io.containerd.image.name': image.name,
        'org.opencontainers.image.ref.name': splitReference(image.name).tag,
      },
      platform: { architecture, os: 'linux' },
    })),
  };
}

/** One archive with all images; a shared blob is in it once. */
export function writeArchive(images: readonly OciImage[]): Buffer {
  const blobs = new Map<string, Blob>();
  for (const image of images) {
    for (const part of [image.manifest, image.config, ...image.layers]) {
      blobs.set(part.digest, part);
    }
  }
  const index = imageIndex(images);
  return writeTar([
    { type: 'file', path: 'oci-layout', content: JSON.stringify({ imageLayoutVersion: '1.0.0' }) },
    { type: 'directory', path: 'blobs' },
    { type: 'directory', path: 'blobs/sha256' },
    ...[...blobs.values()].map(({ digest, content }) => ({
      type: 'file' as const,
      path: `blobs/${digest.replace(':', '/')}`,
      content,
    })),
    { type: 'file', path: 'index.json', content: JSON.stringify(index) },
  ]);
}
