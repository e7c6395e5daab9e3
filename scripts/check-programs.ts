/** Fails when a test, a benchmark or the code that they run starts a program that the table of programs does not have. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { isKnownProgram } from '../test/env/programs.js';
import { readPrograms } from './programs/read-programs.js';

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '..');
/** Tests whose pods are processes of this machine. */
const processPods = /^(src.runtimes.process|test.contract|test.run.run\.process)/;
// The check's own test is full of examples.
const started = ['src', 'test', 'bench', 'soak', 'scripts']
  .flatMap((dir) =>
    readdirSync(path.join(root, dir), { recursive: true, encoding: 'utf8' }).map((name) =>
      path.join(dir, name),
    ),
  )
  .filter((name) => name.endsWith('.ts') && name !== path.join('scripts', 'check-programs.test.ts'))
  .sort()
  .flatMap((file) =>
    readPrograms(readFileSync(path.join(root, file), 'utf8'), processPods.test(file)).map((program) => ({
      file,
      ...program,
    })),
  );
const unknown = started.filter(({ program }) => !isKnownProgram(program));
for (const { file, line, program } of unknown) {
  process.stderr.write(`${file}:${line}: starts ${program}, which test/env/programs.ts does not have\n`);
}
const names = new Set(started.map(({ program }) => program));
if (unknown.length > 0) {
  process.stderr.write('check-programs: add each program with the Debian package that it comes with\n');
  process.exitCode = 1;
} else {
  process.stdout.write(`check-programs: ${names.size} programs, and the table has them all\n`);
}
