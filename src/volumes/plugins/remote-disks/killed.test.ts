/** A kubelet that dies before and after every change to an iSCSI volume, and the next one, which repairs what is left. */
import { describe, expect, it } from 'vitest';
import { fcVolumes } from './index.js';
import {
  device,
  expectGone,
  global,
  iscsi,
  kubelet,
  mounts,
  names,
  newSan,
  persistent,
  pod,
  podPath,
  remains,
  rootDir,
  type SanKubelet,
  setUp,
  signal,
  takeDown,
} from './test-kubelet.js';
import type { TestSan } from './test-san.js';

/** Runs work with a death at each change in turn, and checks what each leaves. */
async function atEveryChange(
  prepare: (on: SanKubelet) => Promise<void>,
  work: (on: SanKubelet) => Promise<void>,
  check: (san: TestSan, place: string) => Promise<void>,
  start: (san: TestSan) => SanKubelet = kubelet,
): Promise<number> {
  for (let number = 1; ; number++) {
    for (const when of ['before', 'after'] as const) {
      const on = start(await newSan());
      await prepare(on);
      on.host.inject({ at: on.host.calls.length + number, when, effect: { kind: 'die' } });
      const failure = await work(on).then(
        () => undefined,
        (error: unknown) => error,
      );
      if (!on.host.dead) {
        expect(failure).toBeUndefined();
        return number - 1;
      }
      expect(failure).toBeDefined();
      const call = on.host.calls.at(-1);
      await check(on.san, `${when} ${number} ${call?.operation} ${call?.path}`);
    }
  }
}

describe('a kubelet that is killed', { timeout: 60_000 }, () => {
  const spec = iscsi({ portals: ['10.0.0.2'] });

  it('in set-up leaves what the next one sets up, and takes down', async () => {
    const changes = await atEveryChange(
      async () => {},
      (on) => setUp(on, spec),
      async (san, place) => {
        const next = kubelet(san);
        await setUp(next, spec);
        expect(await mounts(next), place).toEqual([global, podPath]);
        await takeDown(next);
        await expectGone(next, place);
      },
    );
    expect(changes).toBeGreaterThan(20);
  });

  it('in set-up leaves what the next one finds and takes down', async () => {
    await atEveryChange(
      async () => {},
      (on) => setUp(on, spec),
      async (san, place) => {
        const next = kubelet(san);
        await next.plugin.tearDown(remains);
        const left = await next.plugin.devices?.remains?.();
        for (const found of left?.devices ?? []) await next.plugin.devices?.unmountDevice(found);
        await san.settle();
        await next.plugin.devices?.unmountDevice(device);
        await expectGone(next, place);
      },
    );
  });

  it('in set-up, and then the machine is switched off', async () => {
    await atEveryChange(
      async () => {},
      (on) => setUp(on, spec),
      async (san, place) => {
        await san.reboot();
        const next = kubelet(san);
        await setUp(next, spec);
        expect(await mounts(next), place).toEqual([global, podPath]);
        await takeDown(next);
        await expectGone(next, place);
      },
    );
  });

  it('in taking down leaves what the next one takes down, or sets up again', async () => {
    const changes = await atEveryChange(
      (on) => setUp(on, spec),
      takeDown,
      async (san, place) => {
        const next = kubelet(san);
        await takeDown(next);
        await expectGone(next, place);
        await setUp(next, spec);
        expect(await mounts(next), place).toEqual([global, podPath]);
      },
    );
    expect(changes).toBeGreaterThan(10);
  });

  it('is never one that formats a disk twice', async () => {
    await atEveryChange(
      async () => {},
      (on) => setUp(on, spec),
      async (san, place) => {
        const was = san.formatted.size;
        await setUp(kubelet(san), spec);
        const formats = san.commands.filter(([program]) => program === 'mkfs.ext4');
        expect(formats.length, place).toBe(1);
        expect(san.formatted.size, place).toBeGreaterThanOrEqual(was);
      },
    );
  });
});

describe('a kubelet that is killed with a block volume', { timeout: 60_000 }, () => {
  const spec = iscsi({}, false, 'pv', { volumeMode: 'Block' });
  const map = async ({ plugin }: SanKubelet): Promise<void> => {
    await plugin.block?.prepare(spec);
    await plugin.devices?.attach?.(spec, pod(), signal);
    await plugin.block?.setUpDevice(spec, signal);
    await plugin.block?.mapPodDevice({ pod: pod(), spec, isRemount: false, signal });
  };
  const release = async ({ plugin }: SanKubelet): Promise<void> => {
    for (const found of (await plugin.block?.remains?.())?.devices ?? []) {
      await plugin.block?.tearDownDevice(found);
    }
  };

  it('leaves what the next one finds and takes down, or maps again', async () => {
    const check = async (san: TestSan, place: string): Promise<void> => {
      const next = kubelet(san);
      await release(next);
      await expectGone(next, place);
      await map(next);
      await release(next);
      await expectGone(next, place);
    };
    expect(await atEveryChange(async () => {}, map, check)).toBeGreaterThan(10);
    expect(await atEveryChange(map, release, check)).toBeGreaterThan(3);
  });
});

describe('a kubelet that is killed with a Fibre Channel volume', { timeout: 60_000 }, () => {
  const wwn = '500a0981891b8dc5';
  const spec = persistent({ fc: { targetWWNs: [wwn], lun: 3 } });
  const start = (san: TestSan): SanKubelet => kubelet(san, fcVolumes);
  const add = async ({ san }: SanKubelet): Promise<void> =>
    void (await san.add(`/dev/disk/by-path/fc-0x${wwn}-lun-3`));
  const release = async ({ plugin, san }: SanKubelet): Promise<void> => {
    await plugin.tearDown(remains);
    const left = await plugin.devices?.remains?.();
    for (const found of left?.devices ?? []) await plugin.devices?.unmountDevice(found);
    await san.settle();
  };
  const expectNothing = async (on: SanKubelet, place: string): Promise<void> => {
    expect(await mounts(on), place).toEqual([]);
    expect(await names(on, `${rootDir}/plugins/kubernetes.io/fc`), place).toEqual([]);
    expect(await names(on, `${rootDir}/plugins/kubernetes.io~fc/disks`), place).toEqual([]);
  };

  it('leaves what the next one finds and takes down', async () => {
    const check = async (san: TestSan, place: string): Promise<void> => {
      const next = start(san);
      await release(next);
      await expectNothing(next, place);
    };
    const setUpAll = (on: SanKubelet): Promise<void> => setUp(on, spec);
    expect(await atEveryChange(add, setUpAll, check, start)).toBeGreaterThan(10);
    const prepare = async (on: SanKubelet): Promise<void> => {
      await add(on);
      await setUpAll(on);
    };
    expect(await atEveryChange(prepare, release, check, start)).toBeGreaterThan(5);
  });
});
