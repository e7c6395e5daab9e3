/** Judges what the files of a container and the processes of the machine say together. */
import type { ProcessIdentity, RecordedState, StartClaim } from './container-state.js';

export interface Sighting {
  readonly state: RecordedState;
  /** Of the start that is under way. */
  readonly claim: StartClaim | undefined;
  /** Which boot this is. */
  readonly bootId: string;
  /** Whether the supervisor that `supervisorOf` names runs and is the same process. */
  readonly supervisorLives: boolean;
}

export type Verdict =
  /** It is as the file says. */
  | 'as-recorded'
  /** A supervisor is about to tell more. */
  | 'starting'
  /** It was to be started, but no supervisor has come yet. */
  | 'unclaimed'
  /** It was to be started and never will be: it is created as before. */
  | 'taken-back'
  /** Its supervisor is gone and so is the knowledge of its end. */
  | 'lost';

/** The supervisor on whose life the state depends. */
export function supervisorOf(
  state: RecordedState,
  claim: StartClaim | undefined,
): ProcessIdentity | undefined {
  if (state.kind === 'running') return state.supervisor;
  return state.kind === 'starting' && claim?.by === 'supervisor' ? claim.supervisor : undefined;
}

export function judge({ state, claim, bootId, supervisorLives }: Sighting): Verdict {
  switch (state.kind) {
    case 'created':
    case 'exited':
      return 'as-recorded';
    case 'running':
      // Process numbers begin anew with a boot, and so may start times.
      return state.bootId === bootId && supervisorLives ? 'as-recorded' : 'lost';
    case 'starting': {
      if (claim?.by === 'agent') return 'taken-back';
      const sameBoot = state.bootId === bootId;
      if (claim === undefined) return sameBoot ? 'unclaimed' : 'taken-back';
      return sameBoot && supervisorLives ? 'starting' : 'lost';
    }
  }
}
