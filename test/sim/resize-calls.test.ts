/** What a resize costs: calls of the runtime, requests to the API and changes of files, and which of them come first. */
import { afterEach, describe, expect, it } from 'vitest';
import type { Container } from '../../src/kube/index.js';
import { resources } from '../../src/kube-client/index.js';
import { ClusterMachine, startMember } from './cluster-machine.js';
import { endNodes, minute, second } from './node.js';
import { passEveryLook } from './passing-time.js';
import { apiPod } from './pods.js';
import { rootDir, startVolumeNode } from './volume-node.js';

afterEach(endNodes);

/** Without requests, as the node of a simulated cluster has nothing to offer. */
const app = (cpu: string): Container => ({
  name: 'app',
  image: 'app:1',
  resources: { requests: { cpu: '0' }, limits: { cpu } },
});

/** What a member does for one resize: the calls of both sides, in their order. */
async function resized() {
  const on = new ClusterMachine();
  const journal: string[] = [];
  passEveryLook(on.machine.time);
  const test = await startMember({
    on,
    through: (machine) => ({
      ...machine,
      updateContainerResources: (...given) => {
        journal.push('runtime: updateContainerResources');
        return machine.updateContainerResources(...given);
      },
    }),
  });
  await on.create('a', { containers: [app('1')] });
  await test.untilReady('a');
  // Until a sync has looked at a later moment than that at which the pod was started.
  await test.node.advance(2 * minute);
  const from = { runtime: test.node.line.calls.length, api: test.line.calls.length };
  const { push } = test.line.calls;
  test.line.calls.push = (...calls) => {
    journal.push(...calls.map(({ verb, about }) => `api: ${verb} ${about}`));
    return push.apply(test.line.calls, calls);
  };
  await on.patch('a', { spec: { containers: [{ name: 'app', resources: app('2').resources }] } });
  const pod = await test.until(
    'has its CPU',
    'a',
    ({ status }) => status?.containerStatuses?.[0]?.resources?.limits?.cpu === '2',
  );
  await test.node.advance(second);
  return {
    test,
    journal,
    pod,
    runtime: test.node.line.calls.slice(from.runtime).map(({ method }) => method),
  };
}

describe('a resize of a pod at rest', () => {
  it('takes one call to be made real, and one look to see it', async () => {
    const { runtime } = await resized();
    expect(runtime).toEqual([
      'updatePodSandboxResources',
      'updateContainerResources',
      'podSandboxStatus',
      'containerStatus',
    ]);
  });

  it('asks the API for one status and two events, after the runtime was told', async () => {
    const { journal, test, pod } = await resized();
    const ofPod = journal.filter((call) => !/leases|nodes/.test(call));
    expect(ofPod).toEqual([
      'runtime: updateContainerResources',
      'api: patch pods',
      'api: create events',
      'api: create events',
    ]);
    expect(pod.status?.observedGeneration).toBe(2);
    const { items } = await test.on.api.list(resources.events);
    expect(items.map(({ reason }) => reason).filter((reason) => reason?.startsWith('Resize'))).toEqual([
      'ResizeStarted',
      'ResizeCompleted',
    ]);
  });

  it('writes each of its two records once', async () => {
    const { node, host } = await startVolumeNode();
    const pod = (cpu: string, generation: number) => {
      const { metadata, ...rest } = apiPod('a', { containers: [app(cpu)] });
      return { metadata: { ...metadata, generation }, ...rest };
    };
    node.put(pod('1', 1));
    await node.untilReady('a');
    await node.advance(2 * minute);
    const before = host.calls.length;
    node.put(pod('2', 2));
    await node.until('it is done', () => node.reasons('a').includes('ResizeCompleted'));
    await node.advance(5 * second);
    const changes = host.calls.slice(before).filter(({ changing }) => changing);
    const replaced = (name: string): string[] => [
      `writeFile ${rootDir}/${name}.tmp`,
      `syncFile ${rootDir}/${name}.tmp`,
      `rename ${rootDir}/${name}`,
      `syncDirectory ${rootDir}`,
    ];
    expect(changes.map(({ operation, path }) => `${operation} ${path}`)).toEqual([
      ...replaced('allocated_pods_state'),
      ...replaced('actuated_pods_state'),
    ]);
  });
});
