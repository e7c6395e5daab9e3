/** subPath mounts of a process that dies between any two calls. */
import { describe, expect, it } from 'vitest';
import { type Host, type SimulatedHost, type SimulatedMachine, simulatedHost } from '../../host/index.js';
import { cleanSubPaths, prepareSubPath } from './index.js';

const podDirectory = '/var/pods/uid';
const volumePath = '/var/volume';

const prepare = (host: Host, subPath: string) =>
  prepareSubPath({
    host,
    podDirectory,
    innerVolumeName: 'vol',
    containerName: 'main',
    mountIndex: 0,
    volumePath,
    subPath,
    volumeMountName: 'data',
  });
const clean = (host: Host) => cleanSubPaths({ host, podDirectory, innerVolumeName: 'vol' });

async function machine(): Promise<SimulatedMachine> {
  const { files, machine } = simulatedHost();
  await files.mkdir(podDirectory, { recursive: true });
  await files.mkdir(`${volumePath}/dir`, { recursive: true });
  await files.writeFile(`${volumePath}/dir/data`, 'kept');
  await files.writeFile(`${volumePath}/file`, 'kept');
  return machine;
}

/** Runs the work on fresh machines, dying at each call in turn, and hands over to the next process. */
async function dyingEverywhere(
  before: (host: SimulatedHost) => Promise<unknown>,
  work: (host: SimulatedHost) => Promise<unknown>,
  after: (host: SimulatedHost) => Promise<void>,
): Promise<number> {
  for (let at = 1; ; at++) {
    for (const when of ['before', 'after'] as const) {
      const shared = await machine();
      await before(simulatedHost({ machine: shared }));
      const dying = simulatedHost({ machine: shared, faults: [{ at, when, effect: { kind: 'die' } }] });
      await work(dying).catch(() => {});
      const next = simulatedHost({ machine: shared });
      await after(next);
      expect(next.machine.heldPaths).toBe(0);
      if (dying.calls.length < at) return at - 1;
    }
  }
}

async function expectNothingLeft(host: SimulatedHost): Promise<void> {
  expect(await host.mounts.list()).toHaveLength(1);
  expect(await host.files.readdir(podDirectory)).toEqual([]);
  expect(await host.files.readdir(`${volumePath}/dir`)).toEqual(['data']);
  expect(await host.files.readdir(volumePath)).toContain('file');
}

const nothing = async (): Promise<void> => {};

describe('a process that dies', () => {
  it.each(['dir', 'file', 'new/er'])(
    'while preparing %s: the next one prepares it again and cleans up',
    async (subPath) => {
      const steps = await dyingEverywhere(
        nothing,
        (host) => prepare(host, subPath),
        async (host) => {
          const target = await prepare(host, subPath);
          expect((await host.files.stat(target)).inode).toBe(
            (await host.files.stat(`${volumePath}/${subPath}`)).inode,
          );
          expect(await host.mounts.list()).toHaveLength(2);
          await clean(host);
          await expectNothingLeft(host);
        },
      );
      expect(steps).toBeGreaterThan(4);
    },
  );

  it('while preparing: the next one can clean up at once', async () => {
    await dyingEverywhere(
      nothing,
      (host) => prepare(host, 'dir'),
      async (host) => {
        await clean(host);
        await expectNothingLeft(host);
      },
    );
  });

  it('while replacing a mount: the next one gets it right', async () => {
    await dyingEverywhere(
      (host) => prepare(host, 'file'),
      (host) => prepare(host, 'dir'),
      async (host) => {
        const target = await prepare(host, 'dir');
        expect(await host.files.readdir(target)).toEqual(['data']);
        await clean(host);
        await expectNothingLeft(host);
      },
    );
  });

  it('while cleaning up: the next one cleans up the rest', async () => {
    const steps = await dyingEverywhere(
      (host) => prepare(host, 'dir'),
      clean,
      async (host) => {
        await clean(host);
        await expectNothingLeft(host);
      },
    );
    expect(steps).toBe(5);
  });

  it('with the whole machine: only directories are left to clean up', async () => {
    const shared = await machine();
    await prepare(simulatedHost({ machine: shared }), 'dir');
    shared.reboot();
    const host = simulatedHost({ machine: shared });
    await clean(host);
    await expectNothingLeft(host);
  });
});
