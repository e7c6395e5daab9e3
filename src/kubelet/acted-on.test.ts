import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { configFields } from '../config/index.js';
import { actedOnFields, actedOnGates } from './acted-on.js';

const src = join(import.meta.dirname, '..');
/** Gates that the configuration reads to let other settings through. */
const readByConfiguration = ['CustomCPUCFSQuotaPeriod', 'KubeletCrashLoopBackOffMax'];

it('names exactly the gates that are read', () => {
  const read = new Set<string>(readByConfiguration);
  for (const name of readdirSync(src, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.ts') || name.endsWith('.test.ts') || name.startsWith('config')) continue;
    for (const [, gate = ''] of readFileSync(join(src, name), 'utf8').matchAll(
      /\bgates\.enabled\('(\w+)'\)/g,
    ))
      read.add(gate);
  }
  expect([...actedOnGates].sort()).toEqual([...read].sort());
});

it('names only settings that exist', () => {
  const known = new Set(
    configFields.flatMap(({ path }) =>
      path.split('.').map((_, end, parts) => parts.slice(0, end + 1).join('.')),
    ),
  );
  expect([...actedOnFields].filter((field) => !known.has(field))).toEqual([]);
});
