import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { connectCri } from '../cri/index.js';
import { remoteCommand } from '../streaming/index.js';
import { runCri } from './cri-serve.js';

const directory = mkdtempSync(join(tmpdir(), 'nodelet-cri-'));
afterEach(() => rmSync(directory, { recursive: true, force: true }));

describe('nodelet cri serve', () => {
  it('serves a runtime on a private socket until a signal', async () => {
    const said: string[] = [];
    const stdout = vi
      .spyOn(process.stdout, 'write')
      .mockImplementation((text) => said.push(String(text)) > 0);
    const socket = join(directory, 'deep', 'cri.sock');
    try {
      const served = runCri(['serve', '--runtime', 'sim', '--listen', `unix://${socket}`]);
      await vi.waitUntil(() => said.length > 0, { timeout: 10_000 });
      expect(said.join('')).toContain(`crictl --runtime-endpoint unix://${socket} `);
      expect(statSync(socket).mode & 0o777).toBe(0o600);
      const client = connectCri({ endpoint: `unix://${socket}`, requestTimeoutMs: 10_000 });
      const metadata = { name: 'p', namespace: 'n', uid: 'u', attempt: 0 };
      const { podSandboxId } = await client.runPodSandbox({ config: { metadata } });
      await client.pullImage({ image: { image: 'example.test/busybox:1' } });
      const { containerId } = await client.createContainer({
        podSandboxId,
        config: { metadata: { name: 'c' }, image: { image: 'example.test/busybox:1' } },
      });
      await client.startContainer({ containerId });
      const { url } = await client.exec({ containerId, cmd: ['sh', '-c', 'exit 7'], stdout: true });
      expect(await remoteCommand({ target: { url }, stdout: new PassThrough(), tty: false })).toMatchObject({
        exitCode: 7,
      });
      client.close();
      process.emit('SIGHUP');
      expect(await served).toBe(0);
      expect(existsSync(socket)).toBe(false);
    } finally {
      stdout.mockRestore();
    }
  });

  it.each([
    [[], 0],
    [['serve', '--help'], 0],
    [['serve'], 2],
    [['serve', '--runtime', 'other'], 2],
    [['serve', '--runtime', 'sim', '--listen', 'tcp://127.0.0.1:1'], 2],
    [['serve', '--runtime', 'sim', 'more'], 2],
    [['dance'], 2],
  ])('%j ends with %i', async (argv, code) => {
    const out = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    const err = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    try {
      expect(await runCri(argv)).toBe(code);
    } finally {
      out.mockRestore();
      err.mockRestore();
    }
  });
});
