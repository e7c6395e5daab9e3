/** Fails when a file of src/ imports against the direction of the rooms. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { readImports } from './imports/read-imports.js';
import { checkImports, formatViolation, type SourceFile } from './imports/rules.js';

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '..');

const files = readdirSync(path.join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .map((name) => path.posix.join('src', name.split(path.sep).join('/')))
  .filter((name) => name.endsWith('.ts'))
  .sort()
  .map(
    (name): SourceFile => ({ path: name, imports: readImports(readFileSync(path.join(root, name), 'utf8')) }),
  );
const violations = checkImports(files);
for (const violation of violations) process.stderr.write(`${formatViolation(violation)}\n`);
if (violations.length > 0) {
  process.stderr.write(`check-imports: ${violations.length} in ${files.length} files\n`);
  process.exitCode = 1;
} else {
  process.stdout.write(`check-imports: ${files.length} files import in the right direction\n`);
}
