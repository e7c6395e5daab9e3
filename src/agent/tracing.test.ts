import path from 'node:path';
import { build } from 'esbuild';
import { afterEach, expect, it } from 'vitest';
import { Registry } from '../metrics/index.js';
import { Timeline } from '../timeline/index.js';
import { type AgentTracing, startTracing } from './tracing.js';

const src = path.join(import.meta.dirname, '..');
let tracing: AgentTracing | undefined;
afterEach(() => tracing?.close());

const start = (settings?: { endpoint?: string; samplingRatePerMillion?: number }): Promise<AgentTracing> =>
  startTracing(
    // Only this part of the configuration is read.
    { config: { tracing: settings } } as unknown as Parameters<typeof startTracing>[0],
    { nodeName: 'n1', timeline: new Timeline(), registry: new Registry() },
  );

it('is off without configuration', async () => {
  tracing = await start();
  expect(tracing.tracer.isRecording).toBe(false);
});

it('is on with it, even an empty one, as callers may want their traces kept', async () => {
  tracing = await start({});
  expect(tracing.tracer.isRecording).toBe(true);
});

it('an agent whose tracing is off loads none of the code that keeps spans', async () => {
  const { metafile } = await build({
    entryPoints: [path.join(src, 'agent/run-agent.ts')],
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    outdir: '/nonexistent',
    write: false,
    metafile: true,
    logLevel: 'silent',
  });
  const inputs = Object.entries(metafile.inputs);
  const reached = new Set(
    inputs.filter(([name]) => name.endsWith('src/agent/run-agent.ts')).map(([name]) => name),
  );
  for (const name of reached)
    for (const { path: next, kind } of metafile.inputs[name]?.imports ?? [])
      if (kind === 'import-statement') reached.add(next);
  expect(reached.size).toBeGreaterThan(100);
  expect([...reached].filter((name) => name.includes('src/tracing/recording'))).toEqual([]);
  expect(inputs.filter(([name]) => name.includes('src/tracing/recording'))).not.toEqual([]);
});
