/** The error of a start that cannot go on: its message says what to do about it, so nobody needs its stack. */
export class StartFailure extends Error {
  override readonly name = 'StartFailure';
}
