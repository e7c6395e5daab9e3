/** What a runtime knows of its pods after the machine was restarted. */
import { describe, expect, it } from 'vitest';
import { ContainerState, PodSandboxState } from '../../src/cri/index.js';
import { type Contract, runsForever } from './cri-contract-pods.js';

export function describeReboot({ cri, subject, fresh }: Contract): void {
  describe('a reboot', () => {
    it('leaves the metadata of what ran, and a way to run it again', async () => {
      const pod = fresh().pod({});
      const podSandboxId = await pod.run();
      const ran = await pod.start({ name: 'ran', command: runsForever });
      const created = await pod.create({ name: 'created', command: runsForever });
      const ended = await pod.start({ name: 'ended', command: ['false'] });
      await pod.exited(ended);
      await subject().reboot();
      const { status } = await cri().podSandboxStatus({ podSandboxId });
      expect(status).toMatchObject({ state: PodSandboxState.SANDBOX_NOTREADY, network: { ip: '' } });
      expect(await pod.status(ran)).toMatchObject({
        state: ContainerState.CONTAINER_EXITED,
        exitCode: 255,
        reason: 'Unknown',
      });
      expect(await pod.status(ended)).toMatchObject({ exitCode: 1, reason: 'Error' });
      expect((await pod.status(created)).state).toBe(ContainerState.CONTAINER_CREATED);
      await pod.run({ attempt: 1 });
      await pod.start({ name: 'ran', attempt: 1, command: runsForever });
    });
  });
}
