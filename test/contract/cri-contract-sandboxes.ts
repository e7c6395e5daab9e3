/** What a runtime does with pod sandboxes. */
import { describe, expect, it } from 'vitest';
import { ContainerState, CriError, isNotFound, PodSandboxState } from '../../src/cri/index.js';
import { type Contract, fails, runsForever } from './cri-contract-pods.js';

export function describeSandboxes({ cri, subject, fresh }: Contract): void {
  describe('sandboxes', () => {
    it('run, and show what they were made from', async () => {
      const pod = fresh().pod({ labels: { colour: 'blue' }, annotations: { note: 'kept' } });
      const before = BigInt(Date.now()) * 1_000_000n;
      const id = await pod.run();
      const { status } = await cri().podSandboxStatus({ podSandboxId: id });
      expect(status).toMatchObject({
        id,
        state: PodSandboxState.SANDBOX_READY,
        metadata: { name: pod.name, namespace: 'contract', uid: pod.uid, attempt: 0 },
      });
      expect(status?.labels).toMatchObject({ colour: 'blue' });
      expect(status?.annotations).toMatchObject({ note: 'kept' });
      expect(status!.createdAt >= before - 1_000_000_000n).toBe(true);
      if (subject().podNetwork) expect(status?.network?.ip).toMatch(/^\d+\.\d+\.\d+\.\d+$/);
    });
    it('on the host network have no address of their own', async () => {
      const id = await fresh().pod({ hostNetwork: true }).run();
      const { status } = await cri().podSandboxStatus({ podSandboxId: id });
      expect(status?.network?.ip ?? '').toBe('');
      expect(status?.linux?.namespaces?.options?.network).toBe(2);
    });
    it('are found by id, by label and by state', async () => {
      const pods = fresh();
      const one = pods.pod({});
      const two = pods.pod({});
      const [idOne, idTwo] = [await one.run(), await two.run()];
      await cri().stopPodSandbox({ podSandboxId: idTwo });
      const list = async (filter: object) =>
        (await cri().listPodSandbox({ filter })).items.map(({ id }) => id).sort();
      expect(await list({ id: idOne })).toEqual([idOne]);
      expect(await list({ labelSelector: one.uidSelector })).toEqual([idOne]);
      const run = pods.runSelector;
      expect(await list({ labelSelector: run })).toEqual([idOne, idTwo].sort());
      expect(await list({ labelSelector: run, state: { state: PodSandboxState.SANDBOX_READY } })).toEqual([
        idOne,
      ]);
      expect(await list({ labelSelector: run, state: { state: PodSandboxState.SANDBOX_NOTREADY } })).toEqual([
        idTwo,
      ]);
      expect(await list({ labelSelector: { ...run, ...one.uidSelector, no: 'such' } })).toEqual([]);
      expect(await list({ id: 'nosuchsandbox' })).toEqual([]);
    });
    it('keep their name for themselves until they are removed', async () => {
      const pod = fresh().pod({});
      const id = await pod.run();
      await expect(pod.run()).rejects.toThrow(/failed to reserve sandbox name .* is reserved for/);
      await cri().stopPodSandbox({ podSandboxId: id });
      await expect(pod.run()).rejects.toThrow(/failed to reserve sandbox name/);
      await cri().removePodSandbox({ podSandboxId: id });
      const again = await pod.run();
      expect(again).not.toBe(id);
      const next = await pod.run({ attempt: 1 });
      expect(next).not.toBe(again);
    });
    it('stop and are removed more than once without complaint', async () => {
      const id = await fresh().pod({}).run();
      for (let time = 0; time < 2; time++) await cri().stopPodSandbox({ podSandboxId: id });
      const { status } = await cri().podSandboxStatus({ podSandboxId: id });
      expect(status?.state).toBe(PodSandboxState.SANDBOX_NOTREADY);
      expect(status?.network?.ip ?? '').toBe('');
      for (let time = 0; time < 2; time++) await cri().removePodSandbox({ podSandboxId: id });
    });
    it('that are gone have no status', async () => {
      const podSandboxId = 'nosuchsandbox';
      expect(await fails(cri().podSandboxStatus({ podSandboxId }))).toSatisfy(isNotFound);
    });
    it('kill their containers when they stop and take them along when they are removed', async () => {
      const pod = fresh().pod({});
      const sandboxId = await pod.run();
      const containerId = await pod.start({ command: runsForever });
      await cri().stopPodSandbox({ podSandboxId: sandboxId });
      const status = await pod.status(containerId);
      expect(status).toMatchObject({ state: ContainerState.CONTAINER_EXITED, exitCode: 137 });
      await cri().removePodSandbox({ podSandboxId: sandboxId });
      expect(await fails(cri().containerStatus({ containerId }))).toSatisfy(isNotFound);
      const { containers } = await cri().listContainers({ filter: { labelSelector: pod.uidSelector } });
      expect(containers).toEqual([]);
    });
    it('are removed while they are ready', async () => {
      const pod = fresh().pod({});
      const podSandboxId = await pod.run();
      await pod.start({ command: runsForever });
      await cri().removePodSandbox({ podSandboxId });
      expect(await fails(cri().podSandboxStatus({ podSandboxId }))).toSatisfy(isNotFound);
    });
    it('that do not run take no new containers', async () => {
      const pod = fresh().pod({});
      await cri().stopPodSandbox({ podSandboxId: await pod.run() });
      expect(await fails(pod.create({ command: runsForever }))).toBeInstanceOf(CriError);
    });
  });
}
