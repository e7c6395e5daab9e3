/** Pods with devices of Kubernetes' sample device plugin, on a real containerd: the agent and the plugin die and come back. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SampleDevicePlugin, sampleResource } from '../env/sample-device-plugin.js';
import { busybox, eventually, forever, manifest, TestNode } from './agent.js';

let node: TestNode;
let plugin: SampleDevicePlugin;

async function startAgent(): Promise<void> {
  plugin.removeSocket();
  await node.start('--device-plugin-wait=90s');
  await eventually('plugins can register', async () => existsSync(plugin.registrationSocket));
}

async function apply(name: string, count: number): Promise<void> {
  const resources = { limits: { [sampleResource]: String(count) } };
  const containers = [{ name: 'app', image: busybox, command: forever, resources }];
  await node.apply(`${name}.yaml`, manifest(name, { uid: `uid-${name}`, spec: { containers } }));
}

/** The devices that a container sees. */
async function seen(name: string): Promise<string> {
  const [containerId = ''] = await node.running(name);
  const { stdout } = await node.cri.execSync({ containerId, cmd: ['ls', '/tmp'], timeout: 10 });
  return Buffer.from(stdout).toString().trim();
}

beforeAll(async () => {
  node = await TestNode.create();
  plugin = await SampleDevicePlugin.find({ directory: join(node.dir, 'devices') });
  await startAgent();
  await plugin.start();
  await eventually('the plugin has reported its devices', async () => plugin.isReported());
}, 300_000);
afterAll(async () => {
  await plugin?.stop('SIGTERM');
  await node?.stop();
});

it('a pod gets a device, and what it brings', async () => {
  await apply('one', 1);
  await node.untilReady('one');
  expect(await seen('one')).toBe('Dev-1');
});

it('a pod that wants more than there is left is refused', async () => {
  await apply('many', 2);
  const status = await node.until('many', 'refused', ({ phase }) => phase === 'Failed');
  expect(status).toMatchObject({
    reason: 'UnexpectedAdmissionError',
    message: expect.stringContaining(
      `requested number of devices unavailable for ${sampleResource}. Requested: 2, Available: 1`,
    ),
  });
  await node.remove('many.yaml');
});

it('after the agent died pods run on, and a new one waits for the plugin', { timeout: 120_000 }, async () => {
  const before = await node.running('one');
  await node.kill('SIGKILL');
  await startAgent();
  await node.untilReady('one');
  expect(await node.running('one')).toEqual(before);
  await apply('two', 1);
  await eventually('it waits', async () => node.log.includes('WaitingForDevicePlugin'));
  // The plugin looks after a new kubelet.sock ten seconds later.
  await node.untilReady('two', 60_000);
  expect([await seen('one'), await seen('two')]).toEqual(['Dev-1', 'Dev-2']);
});

it('after the plugin died pods run on, and its successor serves the next one', {
  timeout: 120_000,
}, async () => {
  await plugin.stop('SIGKILL');
  await node.remove('one.yaml');
  await node.untilGone('one');
  await apply('three', 1);
  await plugin.start();
  await node.untilReady('three', 60_000);
  expect([await seen('two'), await seen('three')]).toEqual(['Dev-2', 'Dev-1']);
});
