/** The images of the process runtime: names that every reference has at once, with nothing behind them. */
import { createHash } from 'node:crypto';
import { BoundedMap } from '../../async/index.js';
import { CriError, type Image, type ImageFilter } from '../../cri/index.js';
import { parseImageName } from '../../kube/index.js';

/** Names that nobody asked for the longest are forgotten first; asking for one brings it back. */
const mostNames = 1_000;

export class ProcessImages {
  readonly #uid: number;
  /** By normal name, those asked for last at the end. */
  readonly #known = new BoundedMap<string, Image>({ maxEntries: mostNames });

  /** `uid`: whom a container runs as that does not say. */
  constructor(uid: number) {
    this.#uid = uid;
  }

  list(filter: ImageFilter | undefined): Image[] {
    const wanted = filter?.image?.image ?? '';
    if (wanted === '') return Array.from(this.#known, ([, image]) => image);
    const image = this.find(wanted);
    return image === undefined ? [] : [image];
  }

  /** By id among the names that were asked for; any valid name is an image. */
  find(reference: string): Image | undefined {
    if (/^sha256:[0-9a-f]{64}$/.test(reference)) {
      for (const [, image] of this.#known) if (image.id === reference) return image;
      return undefined;
    }
    const name = normalName(reference);
    if (name === undefined) return undefined;
    const image = this.#known.get(name) ?? describe(name, this.#uid);
    this.#known.set(name, image);
    return image;
  }

  pull(reference: string): string {
    const image = this.find(reference);
    if (image !== undefined) return image.id;
    throw new CriError(
      'InvalidArgument',
      `failed to pull and unpack image "${reference}": failed to resolve reference "${reference}": invalid reference format`,
    );
  }

  /** Removing what is not there is no error. */
  remove(reference: string): void {
    for (const [name, image] of this.#known) {
      if (image.id === reference || name === normalName(reference)) this.#known.delete(name);
    }
  }
}

/** With its tag or digest; undefined when it is no reference. */
function normalName(reference: string): string | undefined {
  const parsed = parseImageName(reference);
  if (parsed === undefined) return undefined;
  return parsed.tag === 'latest' && !/:latest(?:@|$)/.test(reference) ? `${reference}:latest` : reference;
}

function describe(name: string, uid: number): Image {
  const byDigest = name.includes('@');
  return {
    id: `sha256:${createHash('sha256').update(name).digest('hex')}`,
    repoTags: byDigest ? [] : [name],
    repoDigests: byDigest ? [name] : [],
    size: 1,
    uid: { value: uid },
    username: '',
    spec: undefined,
    pinned: false,
  };
}
