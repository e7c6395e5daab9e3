/** The error of a record that cannot be read, or not to its end. */

export class RecordProblem extends Error {
  override readonly name = 'RecordProblem';
}
