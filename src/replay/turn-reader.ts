/** Puts the entries of a record together to turns. */
import { type Input, isInput, type Output, readEntry } from './entries.js';
import type { RecordedTurn } from './player.js';
import { RecordProblem } from './record-problem.js';

/** The last turn of a record that was cut may lack some of what was done in it; `isWhole` is false then. */
export async function* turnsOf(
  lines: AsyncIterable<string> | Iterable<string>,
): AsyncGenerator<RecordedTurn> {
  let input: Input | undefined;
  let outputs: Output[] = [];
  for await (const line of lines) {
    const entry = readEntry(line);
    if (!isInput(entry)) {
      if (input === undefined)
        throw new RecordProblem('the record does not begin with the start of a kubelet');
      outputs.push(entry);
      continue;
    }
    if (input !== undefined) yield { input, outputs };
    input = entry;
    outputs = [];
  }
  if (input !== undefined) yield { input, outputs };
}
