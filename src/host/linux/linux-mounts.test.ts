/** Mount commands that hang: nothing waits beyond its limit. */
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { linuxHost } from './linux-host.js';

describe('mounts with commands that hang', () => {
  const path = process.env.PATH;
  let dir: string;

  /** Commands that record their arguments; they hang unless told to be quick. */
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'nodelet-commands-'));
    for (const command of ['mount', 'umount']) {
      const script = `#!/bin/sh\necho "${command} $*" >> ${dir}/log\ncase "$1" in -f) exit 0;; esac\nexec sleep 30\n`;
      writeFileSync(join(dir, command), script);
      chmodSync(join(dir, command), 0o755);
    }
    process.env.PATH = `${dir}:${path}`;
  });
  afterEach(() => {
    process.env.PATH = path;
    rmSync(dir, { recursive: true });
  });
  const log = (): string => readFileSync(join(dir, 'log'), 'utf8');

  it('mount ends at its limit', async () => {
    const host = linuxHost({ mountTimeoutMs: 300 });
    await expect(host.mounts.mount({ source: 'a:/b', target: '/t', fsType: 'nfs' })).rejects.toMatchObject({
      code: 'ETIMEDOUT',
      message: expect.stringContaining('mount failed: did not end within 0.3s\nMounting command: mount\n'),
    });
    expect(log()).toBe('mount -t nfs -- a:/b /t\n');
  });

  it('unmount ends at its limit', async () => {
    const host = linuxHost();
    await expect(host.mounts.unmount('/t', { timeoutMs: 300 })).rejects.toMatchObject({ code: 'ETIMEDOUT' });
    expect(log()).toBe('umount -- /t\n');
  });

  it('a forced unmount is forced after its limit', async () => {
    const host = linuxHost();
    await host.mounts.unmount('/t', { timeoutMs: 300, force: true });
    expect(log()).toBe('umount -- /t\numount -f -- /t\n');
  });
});
