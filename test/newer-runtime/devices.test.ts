/** Devices that the runtime adds by their CDI names: a container sees what the plugin's description says of each. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { busybox, eventually, forever, manifest, TestNode } from '../containerd/agent.js';
import { SampleDevicePlugin, sampleResource } from '../env/sample-device-plugin.js';

let node: TestNode;
let plugin: SampleDevicePlugin;

beforeAll(async () => {
  node = await TestNode.create();
  plugin = await SampleDevicePlugin.find({
    directory: join(node.dir, 'devices'),
    cdiSpecDir: node.containerd.layout.cdiSpecDir,
  });
  await node.start();
  await eventually('plugins can register', async () => existsSync(plugin.registrationSocket));
  await plugin.start();
  await eventually('the plugin has reported its devices', async () => plugin.isReported());
}, 300_000);
afterAll(async () => {
  await plugin?.stop('SIGTERM');
  await node?.stop();
});

const pod = (name: string) => {
  const resources = { limits: { [sampleResource]: '1' } };
  const containers = [{ name: 'app', image: busybox, command: forever, resources }];
  return manifest(name, { uid: `uid-${name}`, spec: { containers } });
};

it('a container has the variable and the device node of its CDI device, and a neighbour has those of the other', async () => {
  await node.apply('one.yaml', pod('one'));
  await node.untilReady('one');
  await node.apply('two.yaml', pod('two'));
  await node.untilReady('two');
  for (const [name, number] of [
    ['one', '1'],
    ['two', '2'],
  ] as const) {
    const variables = (await node.exec(name, 'app', 'env')).split('\n');
    expect(variables).toContain(`CDI_DEVICE=CDI-Dev-${number}`);
    const listed = await node.exec(name, 'app', 'ls', '/tmp');
    expect(listed.trim().split('\n')).toEqual([`CDI-Dev-${number}`, `Dev-${number}`]);
    const kind = await node.exec(name, 'app', 'stat', '-c', '%F %t', `/tmp/CDI-Dev-${number}`);
    expect(kind).toBe('block special file 1\n');
  }
});

it('a container that starts again after the agent died has the same device', async () => {
  await node.kill('SIGKILL');
  const [before = ''] = await node.running('one');
  await node.start();
  await node.untilReady('one');
  await node.killProcess(before);
  await node.until('one', 'has started again', ({ containerStatuses: [app] = [] }) => {
    return app?.restartCount === 1 && app.state?.running !== undefined;
  });
  expect((await node.exec('one', 'app', 'env')).split('\n')).toContain('CDI_DEVICE=CDI-Dev-1');
});

it('a device without a description keeps the container from starting, and the pod says so', async () => {
  await node.remove('two.yaml');
  await node.untilGone('two');
  // The descriptions go with the plugin that leaves; what it allocated does not.
  await plugin.stop('SIGTERM');
  const [before = ''] = await node.running('one');
  await node.killProcess(before);
  const status = await node.until('one', 'cannot start', ({ containerStatuses: [app] = [] }) => {
    return app?.state?.waiting?.reason === 'CreateContainerError';
  });
  expect(status.containerStatuses?.[0]?.state?.waiting?.message).toContain(
    `unresolvable CDI devices ${sampleResource}=CDI-Dev-1`,
  );
  await plugin.start();
  await node.until('one', 'runs again', ({ containerStatuses: [app] = [] }) => {
    return app?.state?.running !== undefined;
  });
});
