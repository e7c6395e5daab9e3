/** What the node tells of its start. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import { UpdateRuntimeConfigResponse, unimplementedCriRuntime } from '../../cri/index.js';
import { simulatedHost } from '../../host/index.js';
import { readMachineFacts } from '../../runtime-manager/config/index.js';
import { readSettings } from '../settings.js';
import { prepareMachine } from './prepare-machine.js';

const directory = mkdtempSync(join(tmpdir(), 'nodelet-prepare-'));
afterAll(() => rmSync(directory, { recursive: true }));

interface Scene {
  readonly resolvConf?: string;
  readonly cgroupVersion?: 1 | 2;
  readonly failure?: Error;
}

async function start({ resolvConf = '', cgroupVersion = 2, failure }: Scene) {
  const file = join(directory, 'resolv.conf');
  writeFileSync(file, resolvConf);
  const cidrs: (string | undefined)[] = [];
  const settings = await readSettings({
    nodeName: 'n1',
    rootDir: '/root',
    clock: new VirtualClock(),
    machine: simulatedHost(),
    host: { ...(await readMachineFacts()), cgroupVersion },
    config: { resolvConf: file, podCIDR: '10.1.0.0/24' },
    runtime: {
      ...unimplementedCriRuntime(),
      updateRuntimeConfig: async ({ runtimeConfig }) => {
        cidrs.push(runtimeConfig?.networkConfig?.podCidr);
        return UpdateRuntimeConfigResponse.create();
      },
    },
  });
  const prepared = prepareMachine(settings, async () => {
    if (failure !== undefined) throw failure;
  });
  const error = await prepared.then(
    () => undefined,
    (problem: unknown) => problem,
  );
  const events = settings.timeline
    .ofNode()
    .flatMap(({ event, message }) => (event === undefined ? [] : [`${event.reason}: ${message}`]));
  return { events, error, cidrs };
}

it('says that it starts, and gives the runtime the range of pod addresses', async () => {
  const { events, error, cidrs } = await start({});
  expect(error).toBeUndefined();
  expect(events).toEqual(['Starting: Starting kubelet.']);
  expect(cidrs).toEqual(['10.1.0.0/24']);
});

it('says why it cannot start', async () => {
  const failure = new Error('no room for a socket');
  const { events, error, cidrs } = await start({ failure });
  expect(error).toBe(failure);
  expect(events).toEqual(['Starting: Starting kubelet.', 'KubeletSetupFailed: no room for a socket']);
  expect(cidrs).toEqual([]);
});

it('warns of cgroups of version 1', async () => {
  const { events } = await start({ cgroupVersion: 1 });
  expect(events[1]).toMatch(/^CgroupV1: cgroup v1 detected\./);
});

it('warns of more domains than pods can search', async () => {
  const domains = Array.from({ length: 33 }, (_, index) => `d${index}.example`).join(' ');
  const { events } = await start({ resolvConf: `search ${domains}\n` });
  expect(events[1]).toMatch(/^CheckLimitsForResolvConf: .* more than 32 domains!$/);
});
