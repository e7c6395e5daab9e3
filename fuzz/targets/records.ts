/** Records of agents: files that anybody could have made, and the entries in them. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { deflateRawSync } from 'node:zlib';
import { readEntry, readValue } from '../../src/replay/entries.js';
import { blockOf, fileHead, recordFileName } from '../../src/replay/record-file.js';
import { readHead } from '../../src/replay/record-head.js';
import { RecordProblem } from '../../src/replay/record-problem.js';
import { readLines } from '../../src/replay/record-reader.js';
import { madeOfShape } from '../../src/replay/shape.js';
import { toJson } from '../../src/replay/values.js';
import { holds, only, type Target, texts } from '../target.js';

const block = (text: string): Buffer => blockOf(deflateRawSync(Buffer.from(text)), Buffer.byteLength(text));

/** A file of a record, read as `nodelet replay` reads it. */
class RecordFiles implements Target {
  readonly name = 'record-files';
  readonly seeds = [
    Buffer.concat([fileHead(), block('{"k":"go","n":"start","t":[1,2]}\n')]),
    Buffer.concat([fileHead(), block('a\n'), block('b\nc\n')]),
    fileHead(),
  ];
  readonly refuses = only(RecordProblem);
  #dir: string | undefined;

  async run(input: Buffer): Promise<void> {
    this.#dir ??= mkdtempSync(path.join(tmpdir(), 'fuzz-record-'));
    const file = { generation: 1, part: 1 };
    writeFileSync(path.join(this.#dir, recordFileName(file)), input);
    const { lines } = readLines(this.#dir, [file]);
    for await (const line of lines) holds(line !== '', 'no line is empty');
  }

  async close(): Promise<void> {
    if (this.#dir !== undefined) rmSync(this.#dir, { recursive: true, force: true });
    this.#dir = undefined;
  }
}

const recordEntries: Target = {
  name: 'record-entries',
  seeds: texts(
    '{"k":"ok","c":1,"t":[1,2.5],"v":{"a":{"$n":"12"},"b":{"$b":"AAEC"},"c":{"$m":[["x",1]]}}}',
    '{"k":"no","c":1,"t":[1,2],"v":{"$e":{"name":"CriError","message":"m","facts":{"codeName":"NotFound"}}}}',
    '{"k":"cb","c":2,"a":"0","v":[{"$s":[1]},{"$o":[["__proto__",{"a":1}]]}],"t":[1,2]}',
    '{"k":"at","m":[3,1000,0],"t":[1,2]}',
    '{"k":"port","p":"machine","h":{"m":["stat"],"o":{"files":{"m":["readFile"],"v":{"a":1}}}}}',
    '{"k":"do","c":3,"p":"runtime","m":"version","i":"","w":1}',
    '{"k":"head","version":1,"v":{"seed":"s","options":{"nodeName":"n","rootDir":"/r"},"ports":{"options":[],"managers":[],"events":[true],"sources":[]}}}',
  ),
  words: [
    '$n',
    '$b',
    '$u',
    '$f',
    '$d',
    '$m',
    '$s',
    '$o',
    '$e',
    '__proto__',
    'constructor',
    '"k":"',
    '"h":{',
    '[[',
  ],
  refuses: only(RecordProblem),
  run(input) {
    const line = input.toString('utf8');
    if (line.includes('"head"')) {
      readHead(line);
      return;
    }
    const entry = readEntry(line);
    if ('h' in entry && entry.h !== undefined)
      madeOfShape(entry.h, { call: () => undefined, constant: readValue });
    if ('v' in entry && entry.v !== undefined) {
      const value = readValue(entry.v);
      holds(!('isAdmin' in {}), 'no prototype is changed');
      // What was read is written in the same way again.
      const again = JSON.stringify(toJson(value));
      holds(
        JSON.stringify(toJson(readValue(JSON.parse(again)))) === again,
        'a value is the same after a round',
      );
    }
  },
};

export const recordTargets: readonly Target[] = [new RecordFiles(), recordEntries];
