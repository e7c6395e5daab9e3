/** An agent on real containerd records what comes in; offline the same decisions are taken again. */
import { execFile } from 'node:child_process';
import { cp, readdir } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { manifest, shell, TestNode } from './agent.js';

const launcher = new URL('../../bin/nodelet', import.meta.url).pathname;
const run = promisify(execFile);

interface Report {
  readonly generation: number;
  readonly turns: number;
  readonly differences: { readonly count: number; readonly kept: readonly object[] };
  readonly cutAt?: string;
  readonly pod?: { readonly phase: string; readonly steps: readonly { readonly what: string }[] };
}

let node: TestNode;
beforeEach(async () => {
  node = await TestNode.create({ config: { fileCheckFrequency: '2s' } });
});
afterEach(() => node.stop());

async function replay(dir: string, ...flags: string[]): Promise<Report> {
  const { stdout } = await run(process.execPath, [launcher, 'replay', dir, '--json', ...flags], {
    maxBuffer: 64 * 1024 * 1024,
  }).catch((error: { stdout?: string; stderr?: string }) => {
    if (error.stdout === undefined || error.stdout === '') throw new Error(error.stderr);
    return { stdout: error.stdout };
  });
  return JSON.parse(stdout) as Report;
}

describe('a record of an agent on containerd', () => {
  it('is replayed to the same decisions after the agent was killed', async () => {
    const record = path.join(node.dir, 'record');
    await node.apply('web.yaml', manifest('web'));
    await node.apply('job.yaml', manifest('job', { command: shell('exit 3') }));
    await node.start('--record', record);
    await node.untilReady('web');
    await node.until(
      'job',
      'has failed twice',
      ({ containerStatuses: [app] = [] }) => (app?.restartCount ?? 0) > 0,
    );
    await node.remove('web.yaml');
    await node.untilGone('web');
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    await node.kill('SIGKILL');
    await cp(record, '/tmp/wtr/record', { recursive: true });
    expect(await readdir(record)).toEqual(['record-000001-0001.nrec']);
    const report = await replay(record, '--pod', 'web-node1');
    expect(report.differences.kept.slice(0, 3)).toEqual([]);
    expect(report.pod?.steps.map(({ what }) => what)).toContain('container.start');
  });
});
