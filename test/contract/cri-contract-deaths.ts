/** What a runtime shows of processes that were ended by somebody else: the kernel, or a person. */
import { describe, expect, it } from 'vitest';
import { ContainerState, CriError, PodSandboxState } from '../../src/cri/index.js';
import { type Contract, fails, runsForever } from './cri-contract-pods.js';

export function describeDeaths({ cri, subject, fresh }: Contract): void {
  describe('a sandbox whose own process is killed', () => {
    it('is not ready, keeps its containers running, and takes no new one', async ({ skip }) => {
      const { killSandboxProcess } = subject();
      if (killSandboxProcess === undefined)
        return skip('sandboxes of this runtime have no process of their own');
      const pod = fresh().pod({});
      const podSandboxId = await pod.run();
      const running = await pod.start({ name: 'running', command: runsForever });
      const created = await pod.create({ name: 'created', command: runsForever });
      const ended = await pod.start({ name: 'ended', command: ['false'] });
      await pod.exited(ended);
      await killSandboxProcess(podSandboxId);
      const state = async () => (await cri().podSandboxStatus({ podSandboxId })).status?.state;
      await expect.poll(state, { timeout: 10_000 }).toBe(PodSandboxState.SANDBOX_NOTREADY);
      const { items } = await cri().listPodSandbox({ filter: { labelSelector: pod.uidSelector } });
      expect(items.map(({ id, state }) => [id, state])).toEqual([
        [podSandboxId, PodSandboxState.SANDBOX_NOTREADY],
      ]);
      const states = await Promise.all(
        [running, created, ended].map(async (id) => (await pod.status(id)).state),
      );
      expect(states).toEqual([
        ContainerState.CONTAINER_RUNNING,
        ContainerState.CONTAINER_CREATED,
        ContainerState.CONTAINER_EXITED,
      ]);
      expect(await fails(pod.create({ name: 'late', command: runsForever }))).toBeInstanceOf(CriError);
      await expect(cri().startContainer({ containerId: created })).rejects.toThrow(/is not running/);
      expect(await pod.status(created)).toMatchObject({ exitCode: 128, reason: 'StartError', startedAt: 0n });
    });
    it('keeps its address until it is stopped', async ({ skip }) => {
      const { killSandboxProcess, podNetwork } = subject();
      if (killSandboxProcess === undefined || !podNetwork) return skip('this runtime has no pod network');
      const podSandboxId = await fresh().pod({}).run();
      const status = async () => (await cri().podSandboxStatus({ podSandboxId })).status;
      const ip = (await status())?.network?.ip;
      await killSandboxProcess(podSandboxId);
      await expect
        .poll(async () => (await status())?.state, { timeout: 10_000 })
        .toBe(PodSandboxState.SANDBOX_NOTREADY);
      expect((await status())?.network?.ip).toBe(ip);
      await cri().stopPodSandbox({ podSandboxId });
      expect((await status())?.network?.ip).toBe('');
    });
    it('is stopped like any other, and replaced by its next attempt', async ({ skip }) => {
      const { killSandboxProcess } = subject();
      if (killSandboxProcess === undefined)
        return skip('sandboxes of this runtime have no process of their own');
      const pod = fresh().pod({});
      const podSandboxId = await pod.run();
      const id = await pod.start({ command: runsForever });
      await killSandboxProcess(podSandboxId);
      await cri().stopPodSandbox({ podSandboxId });
      expect(await pod.status(id)).toMatchObject({ state: ContainerState.CONTAINER_EXITED, exitCode: 137 });
      const next = await pod.run({ attempt: 1 });
      const { status } = await cri().podSandboxStatus({ podSandboxId: next });
      expect(status?.state).toBe(PodSandboxState.SANDBOX_READY);
      await pod.start({ attempt: 1, command: runsForever });
    });
  });

  describe('a container whose process is killed', () => {
    it('has exited with 137 by an error', async ({ skip }) => {
      const { killContainerProcess } = subject();
      if (killContainerProcess === undefined) return skip("the test has no way to this runtime's processes");
      const pod = fresh().pod({});
      const podSandboxId = await pod.run();
      const id = await pod.start({ command: runsForever });
      await killContainerProcess(id);
      expect(await pod.exited(id)).toMatchObject({ exitCode: 137, reason: 'Error', message: '' });
      const { status } = await cri().podSandboxStatus({ podSandboxId });
      expect(status?.state).toBe(PodSandboxState.SANDBOX_READY);
    });
    it('because it wanted more memory than its limit has exited with 137 and is OOMKilled', async ({
      skip,
    }) => {
      if (subject().memoryLimits !== true) return skip('this runtime enforces no memory limits');
      const pod = fresh().pod({});
      await pod.run();
      const id = await pod.start({
        command: ['awk', 'BEGIN { text = "x"; while (1) text = text text }'],
        memoryLimitBytes: 16 * 1024 * 1024,
        // Where there is no memory to run out of.
        annotations: { 'sim.nodelet.dev/exit-code': '137', 'sim.nodelet.dev/exit-reason': 'OOMKilled' },
      });
      expect(await pod.exited(id)).toMatchObject({ exitCode: 137, reason: 'OOMKilled' });
    });
  });
}
