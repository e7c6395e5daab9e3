/** A start that cannot go on; the message says what to do about it, so no stack is shown. */
export class StartFailure extends Error {
  override readonly name = 'StartFailure';
}
