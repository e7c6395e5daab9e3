/** Caches the result of recent image lookups briefly, for a bounded number of keys. */

export interface RecentLooksOptions {
  readonly lifeMs: number;
  readonly capacity: number;
}

export class RecentLooks<T> {
  readonly #options: RecentLooksOptions;
  readonly #looks = new Map<string, { readonly seen: T; readonly atMs: number }>();

  constructor(options: RecentLooksOptions) {
    this.#options = options;
  }

  get(key: string, nowMs: number): T | undefined {
    const look = this.#looks.get(key);
    return look !== undefined && nowMs - look.atMs < this.#options.lifeMs ? look.seen : undefined;
  }

  set(key: string, seen: T, nowMs: number): void {
    if (this.#looks.size >= this.#options.capacity) this.#looks.clear();
    this.#looks.set(key, { seen, atMs: nowMs });
  }
}

/** Runtimes may choose an image by a pod's annotations; those about the pod's source do not count. */
export function lookKey(
  image: string,
  annotations: Readonly<Record<string, string>>,
  runtimeHandler = '',
): string {
  const counting = Object.entries(annotations).filter(([name]) => !name.startsWith('kubernetes.io/config.'));
  if (runtimeHandler === '' && counting.length === 0) return image;
  return JSON.stringify([image, ...(runtimeHandler === '' ? [] : [runtimeHandler]), ...counting]);
}
