/** The images of a simulated runtime: those on the node, and those in the registry. */
import { createHash } from 'node:crypto';
import { type Clock, sleep } from '../../async/index.js';
import {
  CriError,
  type FilesystemUsage,
  type Image,
  type ImageFilter,
  type ImageSpec,
  type PodSandboxConfig,
} from '../../cri/index.js';
import { scriptedPullMs } from './script.js';

export interface SimImage {
  /** With or without a tag; default `latest`. */
  readonly name: string;
  /** Already on the node; default no. */
  readonly present?: boolean;
  readonly sizeBytes?: number;
  /** How long a pull takes; default 0. */
  readonly pullMs?: number;
  /** The user in the image's config: a number or a name; default none, which means root. */
  readonly user?: number | string;
  readonly pinned?: boolean;
}

export interface SimImagesOptions {
  readonly clock: Clock;
  readonly stamp: () => bigint;
  /** What can be pulled; `any` has every image. */
  readonly known: 'any' | readonly SimImage[];
  readonly mountpoint: string;
}

const defaultSizeBytes = 10 * 1024 * 1024;

export class SimImages {
  readonly #options: SimImagesOptions;
  readonly #known = new Map<string, SimImage>();
  /** By normal name. */
  readonly #present = new Map<string, Image>();

  constructor(options: SimImagesOptions) {
    this.#options = options;
    if (options.known !== 'any') for (const image of options.known) this.add(image);
  }

  /** Adds an image to the registry; replaces one of the same name. */
  add(image: SimImage): void {
    const name = normalName(image.name);
    this.#known.set(name, image);
    if (image.present) this.#present.set(name, describe(name, image));
  }

  /** Removes an image from the registry; one on the node stays there. */
  forget(name: string): void {
    this.#known.delete(normalName(name));
  }

  list(filter: ImageFilter | undefined): Image[] {
    const wanted = filter?.image?.image ?? '';
    if (wanted === '') return [...this.#present.values()];
    const image = this.find(wanted);
    return image === undefined ? [] : [image];
  }

  /** By name, digest reference or id. */
  find(reference: string): Image | undefined {
    const named = this.#present.get(normalName(reference));
    if (named !== undefined) return named;
    for (const image of this.#present.values()) {
      if (image.id === reference || image.repoDigests.includes(reference)) return image;
    }
    return undefined;
  }

  async pull(
    spec: ImageSpec | undefined,
    sandboxConfig: PodSandboxConfig | undefined,
    signal: AbortSignal,
  ): Promise<string> {
    const reference = spec?.image ?? '';
    if (reference === '') throw new CriError('InvalidArgument', 'image reference is empty');
    const name = normalName(reference);
    const known = this.#known.get(name) ?? (this.#options.known === 'any' ? { name } : undefined);
    const pullMs = scriptedPullMs(sandboxConfig?.annotations ?? {}) ?? known?.pullMs ?? 0;
    if (pullMs > 0) await sleep(this.#options.clock, pullMs, signal);
    if (known === undefined) {
      throw new CriError(
        'NotFound',
        `failed to pull and unpack image "${name}": failed to resolve reference "${name}": ${name}: not found`,
      );
    }
    const image = describe(name, known);
    this.#present.set(name, image);
    return image.id;
  }

  /** A missing image is no error. */
  remove(reference: string): void {
    const image = this.find(reference);
    if (image === undefined) return;
    for (const [name, other] of this.#present) {
      if (other.id === image.id) this.#present.delete(name);
    }
  }

  fsUsage(): FilesystemUsage {
    let usedBytes = 0;
    for (const image of this.#present.values()) usedBytes += image.size;
    return {
      timestamp: this.#options.stamp(),
      fsId: { mountpoint: this.#options.mountpoint },
      usedBytes: { value: usedBytes },
      inodesUsed: { value: this.#present.size * 100 },
    };
  }
}

/** The reference with a tag or digest. */
export function normalName(reference: string): string {
  if (reference.includes('@')) return reference;
  return reference.lastIndexOf(':') > reference.lastIndexOf('/') ? reference : `${reference}:latest`;
}

function describe(name: string, image: SimImage): Image {
  const at = name.indexOf('@');
  const repository = at >= 0 ? name.slice(0, at) : name.slice(0, name.lastIndexOf(':'));
  const manifestDigest = at >= 0 ? name.slice(at + 1) : digest(`manifest ${name}`);
  const { user } = image;
  return {
    id: digest(`config ${name}`),
    repoTags: at >= 0 ? [] : [name],
    repoDigests: [`${repository}@${manifestDigest}`],
    size: image.sizeBytes ?? defaultSizeBytes,
    uid: typeof user === 'number' ? { value: user } : undefined,
    username: typeof user === 'string' ? user : '',
    spec: undefined,
    pinned: image.pinned ?? false,
  };
}

function digest(text: string): string {
  return `sha256:${createHash('sha256').update(text).digest('hex')}`;
}
