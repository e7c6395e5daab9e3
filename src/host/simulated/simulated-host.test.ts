/** What a simulated machine has beyond the contract: faults, restarts and reboots. */
import { describe, expect, it } from 'vitest';
import { settle } from '../../async/index.js';
import { HostDied } from './faults.js';
import { SimulatedMachine } from './machine.js';
import { simulatedHost } from './simulated-host.js';

describe('faults', () => {
  it('the n-th changing call fails, before or after its effect', async () => {
    const host = simulatedHost({
      faults: [
        { at: 2, when: 'before', effect: { kind: 'fail', code: 'EIO' } },
        { at: 4, when: 'after', effect: { kind: 'fail', code: 'ENOSPC' } },
      ],
    });
    await host.files.mkdir('/var/1');
    await expect(host.files.mkdir('/var/2')).rejects.toMatchObject({ name: 'HostError', code: 'EIO' });
    await host.files.stat('/var');
    await host.files.mkdir('/var/3');
    await expect(host.files.mkdir('/var/4')).rejects.toMatchObject({ code: 'ENOSPC', path: '/var/4' });
    expect(await host.files.readdir('/var')).toEqual(['1', '3', '4']);
    expect(host.calls.map(({ number, operation, path }) => `${number} ${operation} ${path}`)).toEqual([
      '1 mkdir /var/1',
      '2 mkdir /var/2',
      '3 mkdir /var/3',
      '4 mkdir /var/4',
    ]);
  });

  it("hung calls hold the process's file threads, but none if made apart", async () => {
    const host = simulatedHost({
      faults: [{ at: ({ path }) => path.startsWith('/far'), when: 'before', effect: { kind: 'hang' } }],
    });
    const isOver = async (call: Promise<unknown>): Promise<boolean> => {
      let over = false;
      const settled = (): void => {
        over = true;
      };
      call.then(settled, settled);
      await settle();
      return over;
    };
    for (let index = 0; index < 5; index++)
      await expect(host.apart(`${index}`).files.stat('/far/x')).rejects.toMatchObject({ code: 'ETIMEDOUT' });
    await expect(host.apart('x').hold('/far')).rejects.toThrow('ETIMEDOUT: /far does not answer');
    expect(await isOver(host.files.stat('/var'))).toBe(true);
    for (let index = 0; index < 4; index++) expect(await isOver(host.files.stat('/far/x'))).toBe(false);
    expect(await isOver(host.files.stat('/var'))).toBe(false);
    expect(await isOver(host.mounts.list())).toBe(true);
    expect(await isOver(host.apart('x').files.stat('/var'))).toBe(true);
  });

  it('a bind, a recursive mkdir and a held directory are several calls', async () => {
    const host = simulatedHost();
    await host.files.mkdir('/var/a/b', { recursive: true });
    await host.mounts.mount({ source: '/etc', target: '/var/a/b', options: ['bind', 'ro'] });
    const held = await host.hold('/var/a');
    await (await held.makeDirectory('c', 0o777)).close();
    await held.close();
    expect(host.calls.map(({ operation, path }) => `${operation} ${path}`)).toEqual([
      'mkdir /var/a',
      'mkdir /var/a/b',
      'mount /var/a/b',
      'mount /var/a/b',
      'mkdir /var/a/c',
      'chmod /var/a/c',
    ]);
  });

  it('a dead process does nothing, and the next one finds what it left', async () => {
    const host = simulatedHost({ faults: [{ at: 2, when: 'after', effect: { kind: 'die' } }] });
    const held = await host.hold('/var');
    await host.files.mkdir('/var/1');
    await expect(host.files.mkdir('/var/2')).rejects.toThrow(HostDied);
    expect(host.dead).toBe(true);
    await expect(host.files.stat('/var')).rejects.toThrow(HostDied);
    await expect(host.mounts.list()).rejects.toThrow(HostDied);
    await expect(held.stat()).rejects.toThrow(HostDied);
    expect(host.machine.heldPaths).toBe(0);
    const next = simulatedHost({ machine: host.machine });
    expect(await next.files.readdir('/var')).toEqual(['1', '2']);
    expect(next.calls).toEqual([]);
  });

  it('someone else can act once at any call', async () => {
    const machine = new SimulatedMachine();
    const other = simulatedHost({ machine });
    const host = simulatedHost({
      machine,
      faults: [
        {
          at: ({ operation }) => operation === 'stat',
          when: 'before',
          effect: { kind: 'run', action: () => other.files.writeFile('/var/file', 'x') },
        },
      ],
    });
    expect((await host.files.stat('/var/file')).sizeBytes).toBe(1);
    await other.files.unlink('/var/file');
    await expect(host.files.stat('/var/file')).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

describe('a reboot', () => {
  it('loses mounts and memory, and keeps disks and servers', async () => {
    const machine = new SimulatedMachine();
    const host = simulatedHost({ machine });
    await host.files.mkdir('/var/memory');
    await host.files.mkdir('/var/share');
    const share = { source: 'server:/export', target: '/var/share', fsType: 'nfs' };
    await host.mounts.mount({ source: 'tmpfs', target: '/var/memory', fsType: 'tmpfs' });
    await host.mounts.mount(share);
    for (const dir of ['/var', '/var/memory', '/var/share']) await host.files.writeFile(`${dir}/file`, '');
    machine.reboot();
    const next = simulatedHost({ machine });
    expect(await next.mounts.list()).toHaveLength(1);
    expect(await next.files.readdir('/var/memory')).toEqual([]);
    expect(await next.files.readdir('/var/share')).toEqual([]);
    expect(await next.files.readdir('/var')).toContain('file');
    await next.mounts.mount(share);
    expect(await next.files.readdir('/var/share')).toEqual(['file']);
  });
});

it('the machine can make sockets and devices', async () => {
  const host = simulatedHost({ umask: 0 });
  host.machine.makeSpecialFile('/var/socket', 'socket');
  host.machine.makeSpecialFile('/var/device', 'block-device', 0o600);
  expect(await host.files.stat('/var/socket')).toMatchObject({ kind: 'socket', mode: 0o644 });
  expect(await host.files.stat('/var/device')).toMatchObject({ kind: 'block-device', mode: 0o600 });
  await host.files.mkdir('/var/open', { mode: 0o777 });
  expect((await host.files.stat('/var/open')).mode).toBe(0o777);
});
