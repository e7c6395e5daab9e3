/** A real metrics-server reads hollow nodes: `kubectl top` shows the usage that the annotations of their pods tell. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CleanupStack, CommandError, type ControlPlane, pollUntil, startControlPlane } from '../env/index.js';
import { startMetricsServer } from '../env/metrics-server.js';
import type { ServerProcess } from '../env/server-process.js';
import { type HollowFleet, startHollowFleet } from './hollow-fleet.js';

const cleanups = new CleanupStack();
let plane: ControlPlane;
let fleet: HollowFleet;
let server: ServerProcess;

beforeAll(async () => {
  plane = await startControlPlane({ cleanups, aggregation: true });
  fleet = await startHollowFleet({ cleanups, plane, flags: ['--nodes=2', '--cpu=4', '--memory=16Gi'] });
  await fleet.until('ready', 2);
  await plane.apply(
    // Without controllers nobody else makes it.
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace: 'default' } },
    pod('busy', 'hollow-0', ['app'], { 'usage-cpu': '1500m', 'usage-memory': '3Gi' }),
    pod('pair', 'hollow-0', ['left', 'right'], {
      'left.usage-cpu': '250m',
      'left.usage-memory': '64Mi',
      'right.usage-cpu': '50m',
      'right.usage-memory': '192Mi',
    }),
    pod('calm', 'hollow-1', ['app'], { 'usage-memory': '32Mi' }),
  );
  server = await startMetricsServer(plane, cleanups);
});
afterAll(() => cleanups.run());

function pod(name: string, nodeName: string, containers: readonly string[], settings: object): object {
  const annotations = Object.fromEntries(
    Object.entries(settings).map(([setting, value]) => [`sim.nodelet.dev/${setting}`, value]),
  );
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', annotations },
    spec: { nodeName, containers: containers.map((each) => ({ name: each, image: 'registry.test/app:1' })) },
  };
}

/** The rows that kubectl prints, as soon as there are so many: the first figures come with the second look at the nodes. */
async function top(rows: number, ...args: readonly string[]): Promise<readonly (readonly string[])[]> {
  let last = '';
  return pollUntil(
    `kubectl top ${args.join(' ')} has ${rows} rows`,
    async () => {
      try {
        last = (await plane.kubectl(['top', ...args, '--no-headers'])).stdout;
      } catch (error) {
        if (!(error instanceof CommandError)) throw error;
        last = error.stderr;
        return undefined;
      }
      const found = last
        .trim()
        .split('\n')
        .map((line) => line.split(/\s+/));
      return found.length === rows && !last.includes('unknown') ? found : undefined;
    },
    { timeoutMs: 150_000, intervalMs: 1_000, detail: () => `${last}\n${server.logs().slice(-3000)}` },
  );
}

/** Rates come from two readings of a counter, each at a time of its own, so that the last digit may differ. */
function milliCores(text: string | undefined): number {
  return Math.round(Number(text?.replace(/m$/, '')) / 10) * 10;
}

it('kubectl top pod shows what each container uses', async () => {
  const rows = await top(4, 'pod', '--containers');
  const shown = rows.map(([name, container, cpu, memory]) => [name, container, milliCores(cpu), memory]);
  expect(shown.sort()).toEqual([
    ['busy', 'app', 1500, '3072Mi'],
    ['calm', 'app', 0, '32Mi'],
    ['pair', 'left', 250, '64Mi'],
    ['pair', 'right', 50, '192Mi'],
  ]);
});

it('kubectl top pod shows what a pod uses in all', async () => {
  const rows = await top(1, 'pod', 'pair');
  expect(rows.map(([name, cpu, memory]) => [name, milliCores(cpu), memory])).toEqual([
    ['pair', 300, '256Mi'],
  ]);
});

it('kubectl top node shows the sum of the pods, and 256 MiB of the node itself, as shares of the machine', async () => {
  const rows = await top(2, 'node');
  const shown = rows.map(([name, cpu, cpuShare, memory, memoryShare]) => [
    name,
    milliCores(cpu),
    cpuShare,
    memory,
    memoryShare,
  ]);
  expect(shown.sort()).toEqual([
    ['hollow-0', 1800, '45%', '3584Mi', '21%'],
    ['hollow-1', 0, '0%', '288Mi', '1%'],
  ]);
});
