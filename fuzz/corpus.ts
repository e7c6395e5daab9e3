/** The inputs that broke a parser once: kept by target, and tried again with every run and every test. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const dir = fileURLToPath(new URL('corpus', import.meta.url));

export interface KeptInput {
  readonly name: string;
  readonly input: Buffer;
}

export function keptInputs(target: string): KeptInput[] {
  const inputs = path.join(dir, target);
  if (!existsSync(inputs)) return [];
  return readdirSync(inputs)
    .sort()
    .map((name) => ({ name, input: readFileSync(path.join(inputs, name)) }));
}

export function keptTargets(): string[] {
  return existsSync(dir) ? readdirSync(dir).sort() : [];
}

/** Returns the file, from the root of the repository. */
export function keepInput(target: string, input: Buffer): string {
  const name = createHash('sha256').update(input).digest('hex').slice(0, 16);
  mkdirSync(path.join(dir, target), { recursive: true });
  writeFileSync(path.join(dir, target, name), input);
  return path.join('fuzz', 'corpus', target, name);
}
