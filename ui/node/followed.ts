/** Follows a stream of lines for as long as the page is looked at: asks again when it breaks, and rests while the page is hidden. */
import { linesOfNode, Refused } from './ask.js';

export type FollowState =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'live' }
  /** The node, or who stands before it, answers and says no; asked again as rights may be given. */
  | { readonly kind: 'refused'; readonly because: string; readonly sinceMs: number }
  | { readonly kind: 'lost'; readonly because: string; readonly sinceMs: number };

export interface FollowOptions {
  readonly path: string;
  /** A new stream begins: what it tells replaces what was known. */
  readonly begin: () => void;
  readonly line: (value: unknown) => void;
  readonly state: (state: FollowState) => void;
}

const firstPauseMs = 300;
const longestPauseMs = 4_000;
/** A page that nobody looks at asks for nothing; a short look elsewhere breaks nothing off. */
const hiddenMs = 20_000;

export function follow(options: FollowOptions): () => void {
  const over = new AbortController();
  void keepFollowing(options, over.signal);
  return () => over.abort();
}

async function keepFollowing({ path, begin, line, state }: FollowOptions, over: AbortSignal): Promise<void> {
  let pauseMs = firstPauseMs;
  state({ kind: 'connecting' });
  while (!over.aborted) {
    await visible(over);
    const current = new AbortController();
    const stopWatching = onLongHidden(() => current.abort());
    const signal = AbortSignal.any([over, current.signal]);
    let because = 'the stream has ended';
    let kind: 'refused' | 'lost' = 'lost';
    try {
      let isFirst = true;
      for await (const text of linesOfNode(path, signal)) {
        if (text === '') continue;
        if (isFirst) begin();
        if (isFirst) state({ kind: 'live' });
        isFirst = false;
        pauseMs = firstPauseMs;
        line(JSON.parse(text));
      }
    } catch (error) {
      if (over.aborted) return;
      because = error instanceof Error ? error.message : String(error);
      if (error instanceof Refused && error.status === 401) return;
      if (error instanceof Refused && error.status === 403) kind = 'refused';
    } finally {
      stopWatching();
    }
    if (over.aborted) return;
    if (!current.signal.aborted) {
      state({ kind, because, sinceMs: Date.now() });
      await pause(pauseMs, over);
      pauseMs = Math.min(longestPauseMs, pauseMs * 2);
    }
  }
}

function visible(over: AbortSignal): Promise<void> {
  if (document.visibilityState !== 'hidden') return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      if (document.visibilityState === 'hidden' && !over.aborted) return;
      document.removeEventListener('visibilitychange', done);
      resolve();
    };
    document.addEventListener('visibilitychange', done);
    over.addEventListener('abort', done, { once: true });
  });
}

function onLongHidden(act: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const changed = (): void => {
    clearTimeout(timer);
    if (document.visibilityState === 'hidden') timer = setTimeout(act, hiddenMs);
  };
  document.addEventListener('visibilitychange', changed);
  return () => {
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', changed);
  };
}

function pause(ms: number, over: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    over.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
}
