/** Rounds of questions about health, with a driver that the test lets answer when it likes. */
import { expect, it } from 'vitest';
import { settle, VirtualClock } from '../../async/index.js';
import { Registry } from '../../metrics/index.js';
import { Timeline } from '../../timeline/index.js';
import { type CallCsi, createCsiMetrics } from './call.js';
import { CsiDrivers } from './drivers.js';
import {
  NodeServiceCapability_RPC_Type as Capability,
  StorageHealth_ErrorType as StorageStatus,
} from './gen/csi.js';
import { HealthUpdates } from './health-updates.js';

it('shows nothing of a driver that has gone before it answered', async () => {
  const clock = new VirtualClock();
  const drivers = new CsiDrivers();
  const registry = new Registry();
  let answer = (): void => {};
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const call: CallCsi = async (_endpoint, method) => {
    if (method.path.endsWith('NodeGetStorageHealth')) await answered;
    const said = {
      capabilities: [{ type: { case: 'rpc', value: { type: Capability.GET_STORAGE_HEALTH } } }],
      backendHealth: [{ status: StorageStatus.STORAGE_UNREACHABLE, reason: 'Net', message: '' }],
    };
    // Each method takes its own fields.
    return method.response.create(said as never);
  };
  const told: string[] = [];
  const updates = new HealthUpdates({
    clock,
    timeline: new Timeline({ clock }),
    client: { clock, drivers, call, metrics: createCsiMetrics(registry) },
    volumes: () => [],
    notice: { volumes: async () => {}, storage: async (driver) => void told.push(driver) },
    periodMs: 1000,
  });
  const stop = new AbortController();
  const running = updates.run(stop.signal).catch(() => undefined);
  const owner = {};
  const driver = { name: 'd', endpoint: '/d.sock', version: [1], versionText: '1', owner } as const;
  drivers.add(driver);
  await clock.advance(1000);
  drivers.remove('d', owner);
  answer();
  await settle();
  expect(await registry.scrape()).not.toContain('csi_node_storage_health_status{');
  expect(told).toEqual([]);
  drivers.add(driver);
  await clock.advance(1000);
  await settle();
  expect(await registry.scrape()).toContain('csi_node_storage_health_status{driver_name="d"');
  expect(told).toEqual(['d']);
  stop.abort();
  await running;
});
