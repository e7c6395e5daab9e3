/** The outcome of an ExecSync command, for probes and lifecycle hooks. */
import type { ExecSyncResponse } from './gen/cri.js';

/** The command exited with a code other than 0. */
export class CommandExitError extends Error {
  override readonly name = 'CommandExitError';
  readonly exitCode: number;

  constructor(command: readonly string[], { exitCode, stderr }: ExecSyncResponse) {
    super(`command '${command.join(' ')}' exited with ${exitCode}: ${new TextDecoder().decode(stderr)}`);
    this.exitCode = exitCode;
  }
}

export interface ExecSyncOutcome {
  /** Standard output followed by standard error. */
  readonly output: Buffer;
  readonly error?: CommandExitError;
}

export function commandOutcome(command: readonly string[], response: ExecSyncResponse): ExecSyncOutcome {
  const output = Buffer.concat([response.stdout, response.stderr]);
  return response.exitCode === 0 ? { output } : { output, error: new CommandExitError(command, response) };
}
