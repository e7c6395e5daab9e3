/** The images of the process runtime: every valid reference exists, with nothing behind it. */
import { createHash } from 'node:crypto';
import { BoundedMap } from '../../async/index.js';
import { CriError, type Image, type ImageFilter } from '../../cri/index.js';
import { parseImageName } from '../../kube/index.js';

/** The names least recently requested are forgotten first; requesting one brings it back. */
const mostNames = 1_000;

export class ProcessImages {
  readonly #uid: number;
  /** By normal name, the most recently requested last. */
  readonly #known = new BoundedMap<string, Image>({ maxEntries: mostNames });

  /** `uid`: the user of containers that name none. */
  constructor(uid: number) {
    this.#uid = uid;
  }

  list(filter: ImageFilter | undefined): Image[] {
    const wanted = filter?.image?.image ?? '';
    if (wanted === '') return Array.from(this.#known, ([, image]) => image);
    const image = this.find(wanted);
    return image === undefined ? [] : [image];
  }

  /** Finds ids among the requested names; any valid name is an image. */
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

  /** A missing image is no error. */
  remove(reference: string): void {
    for (const [name, image] of this.#known) {
      if (image.id === reference || name === normalName(reference)) this.#known.delete(name);
    }
  }
}

/** With its tag or digest; undefined when it is not a reference. */
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
