/** What a kubelet asks of any runtime that it is given: answers in time, answers that say what they must, and a count of them. */
import { afterEach, describe, expect, it } from 'vitest';
import { CreateContainerResponse, CriError, type StartContainerResponse } from '../../src/cri/index.js';
import { endNodes, minute, second, startNode } from './node.js';
import { apiPod } from './pods.js';

afterEach(endNodes);

describe('calls of a runtime inside the process', () => {
  it('end at their deadline, even when the runtime never answers', async () => {
    let starts = 0;
    const node = await startNode({
      through: (machine) => ({
        ...machine,
        startContainer: (request, options) =>
          ++starts === 1
            ? new Promise<StartContainerResponse>(() => {})
            : machine.startContainer(request, options),
      }),
    });
    node.set([apiPod('a')]);
    await node.advance(2 * minute - second);
    expect(node.reasons('a')).not.toContain('Failed');
    await node.advance(2 * second);
    expect(node.events('a', 'Failed').map(({ message }) => message)).toEqual([
      'Error: context deadline exceeded',
    ]);
    await node.untilReady('a');
    expect(
      node.metric('kubelet_runtime_operations_errors_total', { operation_type: 'start_container' }),
    ).toBe(1);
  });

  it('leave nothing behind when the kubelet stops in the middle', async () => {
    const node = await startNode({
      through: (machine) => ({ ...machine, startContainer: () => new Promise(() => {}) }),
    });
    node.set([apiPod('a')]);
    await node.until('the start is under way', () => node.line.of('startContainer').length === 1);
    await node.stop();
    expect(node.clock.pendingTimers).toBe(0);
  });

  it('fail when the answer lacks what it must have', async () => {
    let creates = 0;
    const node = await startNode({
      through: (machine) => ({
        ...machine,
        createContainer: (request, options) =>
          ++creates === 1
            ? Promise.resolve(CreateContainerResponse.create())
            : machine.createContainer(request, options),
      }),
    });
    node.set([apiPod('a')]);
    await node.untilReady('a');
    expect(node.events('a', 'Failed').map(({ message }) => message)).toEqual([
      String.raw`Error: ContainerId is not set for container "name:\"app\""`,
    ]);
  });

  it('are counted once each, sandboxes by their handler', async () => {
    const node = await startNode();
    node.machine.faults.add({ rpc: 'runPodSandbox', error: new CriError('Internal', 'no network') });
    node.set([apiPod('a')]);
    await node.untilReady('a');
    const counts = ['run_podsandbox', 'create_container', 'start_container', 'pull_image'].map(
      (operation_type) => node.metric('kubelet_runtime_operations_total', { operation_type }),
    );
    expect(counts).toEqual([2, 1, 1, node.line.of('pullImage').length]);
    expect(node.metric('kubelet_runtime_operations_errors_total', { operation_type: 'run_podsandbox' })).toBe(
      1,
    );
    expect(node.metric('kubelet_run_podsandbox_duration_seconds_count', { runtime_handler: '' })).toBe(2);
    expect(node.metric('kubelet_run_podsandbox_errors_total', { runtime_handler: '' })).toBe(1);
    expect(node.metric('kubelet_started_pods_errors_total')).toBe(1);
  });
});
