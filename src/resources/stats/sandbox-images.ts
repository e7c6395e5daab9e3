/** The images of sandboxes, which runtimes tell only on request: each is asked for once. */
import { BoundedMap } from '../../async/index.js';
import type { CriRuntime } from '../../cri/index.js';

/** More than the sandboxes of a node. */
const maxKnown = 4_096;
/** Asked for at the same time. */
const batch = 8;
/** Of one scrape; the others have their turn in the next. */
const maxAsked = 512;
const longestImageChars = 1_024;

export interface SandboxImages {
  /** Empty for what the runtime does not tell. */
  of(id: string): string;
  /** Whether the runtime was asked for all of them. */
  readonly isComplete: boolean;
}

export function sandboxImages(
  cri: Partial<Pick<CriRuntime, 'podSandboxStatus'>>,
): (ids: readonly string[]) => Promise<SandboxImages> {
  const known = new BoundedMap<string, string>({ maxEntries: maxKnown });
  const ask = async (id: string): Promise<void> => {
    try {
      const answer = await cri.podSandboxStatus?.({ podSandboxId: id, verbose: true });
      known.set(id, imageIn(answer?.info.info ?? ''));
    } catch {
      // It may be gone, and is asked for again if not.
    }
  };
  return async (ids) => {
    const unknown =
      cri.podSandboxStatus === undefined ? [] : ids.filter((id) => !known.has(id)).slice(0, maxAsked);
    for (let at = 0; at < unknown.length; at += batch)
      await Promise.all(unknown.slice(at, at + batch).map(ask));
    const isComplete = cri.podSandboxStatus === undefined || ids.every((id) => known.has(id));
    return { of: (id) => known.get(id) ?? '', isComplete };
  };
}

/** The member `image` of the runtime's own JSON. */
export function imageIn(info: string): string {
  try {
    const told: unknown = JSON.parse(info);
    const image = typeof told === 'object' && told !== null && 'image' in told ? told.image : undefined;
    return typeof image === 'string' ? image.slice(0, longestImageChars) : '';
  } catch {
    return '';
  }
}
