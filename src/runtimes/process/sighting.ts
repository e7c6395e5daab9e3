/** Derives a container's state from its files and the machine's processes. */
import type { ProcessIdentity, RecordedState, StartClaim } from './container-state.js';

export interface Sighting {
  readonly state: RecordedState;
  /** The claim of the running start. */
  readonly claim: StartClaim | undefined;
  /** The current boot. */
  readonly bootId: string;
  /** Whether the supervisor named by `supervisorOf` is running and is the same process. */
  readonly supervisorLives: boolean;
}

export type SightingVerdict =
  /** The file is right. */
  | 'as-recorded'
  /** A supervisor is about to write more. */
  | 'starting'
  /** A start was requested, but no supervisor has claimed it yet. */
  | 'unclaimed'
  /** The start was taken back and will never happen: the container is created as before. */
  | 'taken-back'
  /** Its supervisor is gone, and how it ended is unknown. */
  | 'lost';

/** The supervisor on which the state depends. */
export function supervisorOf(
  state: RecordedState,
  claim: StartClaim | undefined,
): ProcessIdentity | undefined {
  if (state.kind === 'running') return state.supervisor;
  return state.kind === 'starting' && claim?.by === 'supervisor' ? claim.supervisor : undefined;
}

export function judge({ state, claim, bootId, supervisorLives }: Sighting): SightingVerdict {
  switch (state.kind) {
    case 'created':
    case 'exited':
      return 'as-recorded';
    case 'running':
      // A boot restarts process numbers, and maybe start times.
      return state.bootId === bootId && supervisorLives ? 'as-recorded' : 'lost';
    case 'starting': {
      if (claim?.by === 'agent') return 'taken-back';
      const sameBoot = state.bootId === bootId;
      if (claim === undefined) return sameBoot ? 'unclaimed' : 'taken-back';
      return sameBoot && supervisorLives ? 'starting' : 'lost';
    }
  }
}
