/** Fails when two types of src/ have the same name, or a name that says nothing. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { readTypes, typeNameProblems } from './type-names/type-names.js';

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '..');

const types = readdirSync(path.join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .map((name) => path.posix.join('src', name.split(path.sep).join('/')))
  // Generated messages have the names of their protocol. A test's own types are seen by nobody else.
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts') && !name.includes('/gen/'))
  .sort()
  .flatMap((name) => readTypes({ path: name, text: readFileSync(path.join(root, name), 'utf8') }));
const problems = typeNameProblems(types);
for (const problem of problems) process.stderr.write(`${problem}\n`);
if (problems.length > 0) {
  process.stderr.write(`check-type-names: ${problems.length} of ${types.length} types\n`);
  process.exitCode = 1;
} else {
  process.stdout.write(`check-type-names: ${types.length} types, each with a name of its own\n`);
}
