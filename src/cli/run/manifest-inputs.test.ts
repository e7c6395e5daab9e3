import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../async/index.js';
import { readInputs } from './manifest-inputs.js';

const directory = mkdtempSync(path.join(tmpdir(), 'nodelet-inputs-'));
afterAll(() => rmSync(directory, { recursive: true }));

async function* nothing(): AsyncGenerator<Buffer> {}

const context = { clock: systemClock, stdin: nothing(), signal: new AbortController().signal };
const pod =
  'apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: app, image: web}]}\n';

describe('inputs', () => {
  it('without an end are a problem; the others are read', async () => {
    const good = path.join(directory, 'web.yaml');
    writeFileSync(good, pod);
    const { pods, problems } = await readInputs(['/dev/zero', good], context);
    expect(pods.map(({ pod: { metadata } }) => metadata.name)).toEqual(['web']);
    expect(problems).toMatchObject([
      { file: '/dev/zero', message: expect.stringContaining('reaches the limit') },
    ]);
  });
});
