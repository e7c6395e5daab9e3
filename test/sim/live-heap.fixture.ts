/**
 * Prints the live heap of a node after each given number of pods came and went, as JSON. It is a program of its own, so
 * that the memory of the test runner does not count.
 */

import { parseArgs } from 'node:util';
import { getHeapCodeStatistics } from 'node:v8';
import { ChurningNode } from './churn.js';

const batch = 100;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { 'leak-bytes': { type: 'string', default: '0' } },
});
const leakBytes = Number(values['leak-bytes']);
/** An element of an array takes 8 bytes. */
const leaked: number[][] = [];

/** Bytes of what is still reachable, without the code that was compiled so far. */
async function liveHeapBytes(): Promise<number> {
  if (globalThis.gc === undefined) throw new Error('start this program with --expose-gc');
  for (let round = 0; round < 4; round++) {
    // What only the stack of this turn reaches goes with the turn.
    await new Promise((resolve) => setTimeout(resolve, 10));
    globalThis.gc();
  }
  const { code_and_metadata_size: compiled, bytecode_and_metadata_size: bytecode } = getHeapCodeStatistics();
  return process.memoryUsage().heapUsed - compiled - bytecode;
}

const node = new ChurningNode();
await node.start();
const heapBytes: number[] = [];
for (const pods of positionals.map(Number)) {
  while (node.made < pods) {
    const count = Math.min(batch, pods - node.made);
    await node.churn(count);
    for (let pod = 0; leakBytes > 0 && pod < count; pod++)
      leaked.push(new Array<number>(leakBytes / 8).fill(pod));
  }
  await node.rest();
  heapBytes.push(await liveHeapBytes());
}
await node.stop();
process.stdout.write(JSON.stringify(heapBytes));
