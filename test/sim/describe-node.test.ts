/** A whole kubelet that gives out CPUs: the description of its node says who holds them. */
import { afterEach, expect, it } from 'vitest';
import { simulatedHost } from '../../src/host/index.js';
import { ht8, writeSysfs } from '../../src/resources/machine-topology/test-machines.js';
import { endNodes, startNode } from './node.js';
import { staticName, staticPod } from './pods.js';

afterEach(endNodes);

const pod = (name: string, cpu: string) =>
  staticPod(name, {
    containers: [
      {
        name: 'app',
        image: 'app:1',
        resources: { requests: { cpu, memory: '64Mi' }, limits: { cpu, memory: '64Mi' } },
      },
    ],
  });

it('names the CPUs of each container and those that are shared', async () => {
  const machine = simulatedHost();
  await writeSysfs(machine.files, ht8);
  await machine.files.mkdir('/proc', { recursive: true });
  await machine.files.writeFile('/proc/meminfo', 'MemTotal: 4194304 kB\nSwapTotal: 0 kB\n');
  const node = await startNode({
    sources: ['file'],
    kubelet: {
      machine,
      node: undefined,
      config: { cpuManagerPolicy: 'static', kubeReserved: { cpu: '1' }, evictionHard: {} },
    },
  });
  node.set([pod('pinned', '2'), pod('shared', '500m')], 'file');
  await node.untilReady(staticName('pinned'));
  await node.untilReady(staticName('shared'));
  const { resources, holdings, conditions } = await node.kubelet.describeNode();
  expect(resources.find(({ name }) => name === 'cpu')).toMatchObject({
    capacity: '8',
    kubeReserved: '1',
    allocatable: '7',
    requested: '2500m',
    free: '4500m',
  });
  expect(holdings).toEqual({
    sharedCpus: '0,2-4,6-7',
    holders: {
      omitted: 0,
      items: [expect.objectContaining({ name: staticName('pinned'), container: 'app', cpus: '1,5' })],
    },
  });
  expect(conditions.find(({ type }) => type === 'Ready')).toMatchObject({ status: 'True' });
});
