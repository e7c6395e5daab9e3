/**
 * Decides what a reflector does after each outcome: list or stream all objects, watch on, or first check whether its
 * state is still valid.
 */
import { ApiUnreachable, isApiError, isGone, isResourceVersionTooLarge } from '../api-error.js';

/** What the failure says about the requested version. */
export type ReflectorFailure = 'version-gone' | 'version-unknown' | 'other';

/** busy: the server takes no requests now; no-end: it sent objects and never said that they were all. */
export type StreamFailure = ReflectorFailure | 'busy' | 'no-end';

export type ReflectorOutcome =
  | { readonly kind: 'started' }
  | { readonly kind: 'listed'; readonly resourceVersion: string }
  | { readonly kind: 'list-failed'; readonly asked: string; readonly failure: ReflectorFailure }
  /** A stream of all objects came to no end; once it has, it is a watch like any other. */
  | { readonly kind: 'stream-failed'; readonly asked: string; readonly failure: StreamFailure }
  /** The server ended it normally, as it does after its time. */
  | { readonly kind: 'watch-ended'; readonly livedMs: number; readonly events: number }
  | { readonly kind: 'watch-failed'; readonly failure: ReflectorFailure }
  /** Whether the server has exactly the known objects, at this version of its own. */
  | { readonly kind: 'checked'; readonly same: boolean; readonly resourceVersion: string }
  | { readonly kind: 'check-failed'; readonly failure: ReflectorFailure };

export type ReflectorStep = {
  readonly wait: 'none' | 'back-off';
  readonly because: string;
} & (
  | { readonly do: 'list'; readonly resourceVersion: string }
  /** Watch, beginning with all objects. */
  | { readonly do: 'stream'; readonly resourceVersion: string }
  | { readonly do: 'watch'; readonly resourceVersion: string }
  /** Compare the known objects with the server's: it may have gone back to an older state meanwhile. */
  | { readonly do: 'check'; readonly resourceVersion: string }
);

/** Whatever the server's cache has. */
const anyVersion = '0';
/** The newest, at any cost. */
const newestVersion = '';
const shortestWatchMs = 1000;

export function failureOf(error: unknown): ReflectorFailure {
  if (isGone(error)) return 'version-gone';
  return isResourceVersionTooLarge(error) ? 'version-unknown' : 'other';
}

export function streamFailureOf(error: unknown): StreamFailure {
  const isBusy = isApiError(error)
    ? error.code === 429
    : error instanceof ApiUnreachable && error.unanswered === 'not-sent';
  return isBusy ? 'busy' : failureOf(error);
}

/**
 * `seen` is the last delivered version; undefined before the first list. `streams` says whether all objects are got by
 * a stream rather than a list.
 */
export function nextStep(
  outcome: ReflectorOutcome,
  seen: string | undefined,
  streams = false,
): ReflectorStep {
  const step = stepAfter(outcome, seen);
  if (!streams || step.do !== 'list' || takesPlaceOfStream(outcome)) return step;
  // A stream from the cache would be that of an arbitrary old version; the newest costs the server no more.
  const resourceVersion = step.resourceVersion === anyVersion ? newestVersion : step.resourceVersion;
  return { ...step, do: 'stream', resourceVersion };
}

/**
 * A list follows a refused stream, and when its version is unknown another list follows: a stream would be refused again,
 * and both asked for without end.
 */
function takesPlaceOfStream(outcome: ReflectorOutcome): boolean {
  return outcome.kind === 'stream-failed' || (outcome.kind === 'list-failed' && outcome.failure !== 'other');
}

function stepAfter(outcome: ReflectorOutcome, seen: string | undefined): ReflectorStep {
  switch (outcome.kind) {
    case 'stream-failed':
      return afterFailedStream(outcome.asked, outcome.failure, seen);
    case 'started':
      return {
        do: 'list',
        resourceVersion: seen ?? anyVersion,
        wait: 'none',
        because: 'nothing is known yet',
      };
    case 'listed':
      return {
        do: 'watch',
        resourceVersion: outcome.resourceVersion,
        wait: 'none',
        because: 'the list is complete',
      };
    case 'list-failed':
      return afterFailedList(outcome.asked, outcome.failure);
    case 'watch-ended': {
      const tooShort = outcome.livedMs < shortestWatchMs && outcome.events === 0;
      return {
        do: 'watch',
        resourceVersion: seen ?? anyVersion,
        wait: tooShort ? 'back-off' : 'none',
        because: tooShort ? 'the server ended the watch at once' : 'the watch timed out',
      };
    }
    case 'watch-failed':
      return afterFailedWatch(outcome.failure, seen);
    case 'checked':
      // The two versions may be of different histories, so comparing them means nothing; the server's own
      // counts.
      return outcome.same
        ? {
            do: 'watch',
            resourceVersion: outcome.resourceVersion,
            wait: 'none',
            because: 'the server has the known objects',
          }
        : {
            do: 'list',
            resourceVersion: outcome.resourceVersion,
            wait: 'none',
            because: 'the server has other objects than the known ones',
          };
    case 'check-failed':
      return afterFailedCheck(outcome.failure, seen);
  }
}

function afterFailedCheck(failure: ReflectorFailure, seen: string | undefined): ReflectorStep {
  if (failure === 'other') {
    return {
      do: 'check',
      resourceVersion: seen ?? anyVersion,
      wait: 'back-off',
      because: 'the server could not be checked',
    };
  }
  return {
    do: 'list',
    resourceVersion: newestVersion,
    wait: 'none',
    because: 'the server does not have our version',
  };
}

function afterFailedStream(asked: string, failure: StreamFailure, seen: string | undefined): ReflectorStep {
  switch (failure) {
    case 'version-gone':
    case 'version-unknown':
      return {
        do: 'stream',
        resourceVersion: newestVersion,
        wait: asked === newestVersion ? 'back-off' : 'none',
        because: 'the server does not have the requested version',
      };
    case 'busy':
      return { do: 'stream', resourceVersion: asked, wait: 'back-off', because: 'the server is busy' };
    case 'no-end':
    case 'other':
      return {
        do: 'list',
        resourceVersion: seen ?? anyVersion,
        wait: 'none',
        because: 'the server does not stream all objects',
      };
  }
}

function afterFailedList(asked: string, failure: ReflectorFailure): ReflectorStep {
  if (failure === 'other') {
    return { do: 'list', resourceVersion: asked, wait: 'back-off', because: 'the list failed' };
  }
  return {
    do: 'list',
    resourceVersion: newestVersion,
    // Only moving away from a version needs no wait; the same request again does.
    wait: asked === newestVersion ? 'back-off' : 'none',
    because: 'the server does not have the requested version',
  };
}

function afterFailedWatch(failure: ReflectorFailure, seen: string | undefined): ReflectorStep {
  switch (failure) {
    case 'version-gone':
      return {
        do: 'list',
        // Not older than what was seen, so that nothing goes back in time.
        resourceVersion: seen ?? anyVersion,
        // All watchers of a restarted server get here together.
        wait: 'back-off',
        because: 'the changes since our version were compacted',
      };
    case 'version-unknown':
      return {
        do: 'list',
        resourceVersion: newestVersion,
        wait: 'back-off',
        because: 'the server does not have our version',
      };
    case 'other':
      return {
        do: 'check',
        resourceVersion: seen ?? anyVersion,
        wait: 'back-off',
        because: 'the watch broke',
      };
  }
}

export interface BackoffState {
  readonly delayMs: number;
  /** When it was last used. */
  readonly usedMs: number;
}

const firstDelayMs = 800;
const longestDelayMs = 30_000;
const resetAfterMs = 120_000;

/**
 * Doubles the last delay, resets after two quiet minutes, and adds up to 100 % jitter, so that nodes do not
 * act in step.
 */
export function nextBackoff(
  state: BackoffState | undefined,
  nowMs: number,
  random: number,
): { readonly state: BackoffState; readonly waitMs: number } {
  const isFresh = state === undefined || nowMs - state.usedMs > resetAfterMs;
  const delayMs = isFresh ? firstDelayMs : Math.min(state.delayMs * 2, longestDelayMs);
  return { state: { delayMs, usedMs: nowMs }, waitMs: delayMs * (1 + random) };
}
