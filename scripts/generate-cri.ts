/**
 * Writes src/cri/gen/*.ts from the protos in src/cri: one interface and one field table per message,
 * one constant object per enum, one method table per service. It reads the part of proto3 that these
 * protos use and refuses everything else.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseProto } from './proto/parse.js';
import { printProto } from './proto/print.js';

const criDirectory = path.join(path.dirname(fileURLToPath(import.meta.url)), '../src/cri');
const outputDirectory = path.join(criDirectory, 'gen');

mkdirSync(outputDirectory, { recursive: true });
for (const name of ['cri', 'containerd-events']) {
  const source = readFileSync(path.join(criDirectory, `${name}.proto`), 'utf8');
  writeFileSync(path.join(outputDirectory, `${name}.ts`), printProto(parseProto(source, `${name}.proto`)));
}
