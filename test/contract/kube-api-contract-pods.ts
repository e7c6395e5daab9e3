/** Pods: their status apart from what is wanted, and their deletion in grace. */
import { describe, expect, it } from 'vitest';
import { clone, type Pod, type PodManifest } from '../../src/kube/index.js';
import {
  isConflict,
  isNotFound,
  mergeSchemaOf,
  resources,
  strategicMergeDiff,
  subresources,
} from '../../src/kube-client/index.js';
import type { KubeApiContract } from './kube-api-contract.js';
import { refusal, uniqueName } from './kube-api-contract-objects.js';

export function newPod(namespace: string, nodeName?: string): PodManifest {
  return {
    metadata: { name: uniqueName('pod'), namespace },
    spec: {
      containers: [{ name: 'main', image: 'nodelet.test/busybox:1' }],
      automountServiceAccountToken: false,
      ...(nodeName === undefined ? {} : { nodeName }),
    },
  };
}

export function describePods({ api, namespace }: KubeApiContract): void {
  const { pods } = resources;
  const bound = (): Promise<Pod> => api().create(pods, newPod(namespace(), 'somenode'));
  const refOf = ({ metadata }: Pod) => ({ namespace: namespace(), name: metadata.name! });
  const isGone = async (pod: Pod): Promise<boolean> => isNotFound(await refusal(api().get(pods, refOf(pod))));
  const setPhase = (pod: Pod, phase: string): Promise<Pod> =>
    api().patch(
      pods,
      refOf(pod),
      { type: 'strategic', body: { status: { phase } } },
      { subresource: 'status' },
    );

  describe('a pod', () => {
    it('is defaulted and pending when it is made, whatever status it brings', async () => {
      const given = newPod(namespace());
      const pod = await api().create(pods, { ...given, status: { phase: 'Running' } });
      expect(pod.spec).toMatchObject({
        restartPolicy: 'Always',
        dnsPolicy: 'ClusterFirst',
        terminationGracePeriodSeconds: 30,
      });
      expect(pod.status).toMatchObject({ phase: 'Pending', qosClass: 'BestEffort' });
      expect(pod.metadata.generation).toBe(1);
    });
    it('has a status that only its subresource changes, and that changes nothing else', async () => {
      const pod = await bound();
      const patch = {
        metadata: { labels: { l: '1' } },
        spec: { activeDeadlineSeconds: 50 },
        status: { phase: 'Running' },
      };
      const direct = await api().patch(pods, refOf(pod), { type: 'strategic', body: patch });
      expect([direct.status?.phase, direct.spec.activeDeadlineSeconds, direct.metadata.generation]).toEqual([
        'Pending',
        50,
        2,
      ]);
      const body = { spec: { activeDeadlineSeconds: 10 }, status: { phase: 'Running' } };
      const status = await api().patch(
        pods,
        refOf(pod),
        { type: 'strategic', body },
        { subresource: 'status' },
      );
      expect([status.status?.phase, status.spec.activeDeadlineSeconds, status.metadata.generation]).toEqual([
        'Running',
        50,
        2,
      ]);
      expect(status.metadata.labels).toEqual({ l: '1' });
    });
    it('takes the difference of two statuses, conditions by type and container statuses whole', async () => {
      const pod = await bound();
      const at = '2026-01-01T00:00:00Z';
      const statusOf = (from: Pod, phase: 'Pending' | 'Running', types: string[], ready: boolean): Pod => ({
        ...clone(from),
        status: {
          ...from.status,
          phase,
          conditions: types.map((type) => ({
            type,
            status: ready ? ('True' as const) : ('False' as const),
            lastTransitionTime: at,
          })),
          podIPs: [{ ip: ready ? '10.0.0.2' : '10.0.0.1' }],
          podIP: ready ? '10.0.0.2' : '10.0.0.1',
          containerStatuses: [
            {
              name: 'main',
              ready,
              restartCount: 0,
              image: 'i',
              imageID: '',
              started: ready,
              state: ready ? { running: { startedAt: at } } : { waiting: { reason: 'ContainerCreating' } },
            },
          ],
        },
      });
      const apply = async (from: Pod, to: Pod): Promise<Pod> => {
        const body = {
          ...strategicMergeDiff(mergeSchemaOf(pods), { status: from.status }, { status: to.status }),
          metadata: { uid: pod.metadata.uid },
        };
        return api().patch(pods, refOf(pod), { type: 'strategic', body }, { subresource: 'status' });
      };
      const pending = await apply(pod, statusOf(pod, 'Pending', ['PodScheduled', 'Ready'], false));
      const running = await apply(
        pending,
        statusOf(pending, 'Running', ['Ready', 'Initialized', 'PodScheduled'], true),
      );
      expect(running.status?.conditions?.map(({ type, status }) => `${type} ${status}`)).toEqual([
        'Ready True',
        'Initialized True',
        'PodScheduled True',
      ]);
      expect(running.status).toMatchObject({ phase: 'Running', podIPs: [{ ip: '10.0.0.2' }] });
      expect(running.status?.containerStatuses?.[0]?.state).toEqual({ running: { startedAt: at } });
      const again = strategicMergeDiff(
        mergeSchemaOf(pods),
        { status: running.status },
        { status: clone(running).status },
      );
      expect(again).toEqual({});
    });
    it('is bound to a node once', async () => {
      const pod = await api().create(pods, newPod(namespace()));
      const binding = { metadata: { name: pod.metadata.name! }, target: { kind: 'Node', name: 'n1' } };
      await api().post(subresources.binding, refOf(pod), binding);
      const found = await api().get(pods, refOf(pod));
      expect(found.spec.nodeName).toBe('n1');
      expect(found.status?.conditions).toMatchObject([{ type: 'PodScheduled', status: 'True' }]);
      expect(isConflict(await refusal(api().post(subresources.binding, refOf(pod), binding)))).toBe(true);
    });
  });

  describe('the deletion of a pod', () => {
    it('that no node runs is immediate', async () => {
      const pod = await api().create(pods, newPod(namespace()));
      await api().delete(pods, refOf(pod));
      expect(await isGone(pod)).toBe(true);
    });
    it('on a node is announced and waits for the node, which ends it by UID', async () => {
      const pod = await bound();
      const marked = await api().delete(pods, refOf(pod), { gracePeriodSeconds: 60 });
      expect(marked?.metadata).toMatchObject({ deletionGracePeriodSeconds: 60, generation: 2 });
      const found = await api().get(pods, refOf(pod));
      expect(
        Date.parse(found.metadata.deletionTimestamp!) - Date.parse(found.metadata.creationTimestamp!),
      ).toBeGreaterThanOrEqual(60_000);
      const wrong = { gracePeriodSeconds: 0, preconditions: { uid: '00000000-1111-4222-8333-444444444444' } };
      expect(isConflict(await refusal(api().delete(pods, refOf(pod), wrong)))).toBe(true);
      await api().delete(pods, refOf(pod), {
        gracePeriodSeconds: 0,
        preconditions: { uid: pod.metadata.uid! },
      });
      expect(await isGone(pod)).toBe(true);
    });
    it('takes the grace of the pod when none is given', async () => {
      const pod = await bound();
      expect((await api().delete(pods, refOf(pod)))?.metadata.deletionGracePeriodSeconds).toBe(30);
      await api().delete(pods, refOf(pod), { gracePeriodSeconds: 0 });
    });
    it('can be shortened, not prolonged', async () => {
      const pod = await bound();
      const first = await api().delete(pods, refOf(pod), { gracePeriodSeconds: 60 });
      const longer = await api().delete(pods, refOf(pod), { gracePeriodSeconds: 90 });
      expect(longer?.metadata.deletionTimestamp).toBe(first?.metadata.deletionTimestamp);
      const shorter = await api().delete(pods, refOf(pod), { gracePeriodSeconds: 20 });
      expect(shorter?.metadata.deletionGracePeriodSeconds).toBe(20);
      const gainMs =
        Date.parse(first!.metadata.deletionTimestamp!) - Date.parse(shorter!.metadata.deletionTimestamp!);
      expect(gainMs).toBe(40_000);
      await api().delete(pods, refOf(pod), { gracePeriodSeconds: 0 });
    });
    it('that has ended is immediate', async () => {
      const pod = await bound();
      await setPhase(pod, 'Succeeded');
      await api().delete(pods, refOf(pod));
      expect(await isGone(pod)).toBe(true);
    });
    it('with a finalizer stays, without grace, until that is gone', async () => {
      const given = newPod(namespace(), 'somenode');
      const pod = await api().create(pods, {
        ...given,
        metadata: { ...given.metadata, finalizers: ['test.nodelet.dev/hold'] },
      });
      await api().delete(pods, refOf(pod), { gracePeriodSeconds: 0 });
      const found = await api().get(pods, refOf(pod));
      expect(found.metadata).toMatchObject({ deletionGracePeriodSeconds: 0 });
      await api().patch(pods, refOf(pod), {
        type: 'json',
        body: [{ op: 'remove', path: '/metadata/finalizers' }],
      });
      expect(await isGone(pod)).toBe(true);
    });
    it('by eviction is announced like any other', async () => {
      const pod = await bound();
      const { name } = pod.metadata;
      await api().post(subresources.eviction, refOf(pod), {
        metadata: { name: name!, namespace: namespace() },
        deleteOptions: { gracePeriodSeconds: 10 },
      });
      expect((await api().get(pods, refOf(pod))).metadata.deletionGracePeriodSeconds).toBe(10);
      await api().delete(pods, refOf(pod), { gracePeriodSeconds: 0 });
    });
  });
}
