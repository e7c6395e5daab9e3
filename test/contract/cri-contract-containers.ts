/** What a runtime does with containers from their creation to their removal. */
import { describe, expect, it } from 'vitest';
import { ContainerState, CriError, isDeadlineExceeded, isNotFound } from '../../src/cri/index.js';
import { type Contract, fails, ignoresTerm, runsForever, waitsForTerm } from './cri-contract-pods.js';

export function describeContainers({ cri, subject, fresh }: Contract): void {
  describe('containers', () => {
    it('go from created through running to exited, with a time for each', async () => {
      const pod = fresh().pod({});
      await pod.run();
      const id = await pod.create({ command: ['sh', '-c', 'sleep 1; exit 3'], annotations: { a: 'b' } });
      const created = await pod.status(id);
      expect(created).toMatchObject({
        id,
        state: ContainerState.CONTAINER_CREATED,
        metadata: { name: 'main', attempt: 0 },
        image: { image: subject().image },
        annotations: { a: 'b' },
        startedAt: 0n,
        finishedAt: 0n,
        exitCode: 0,
      });
      expect(created.imageRef).not.toBe('');
      await cri().startContainer({ containerId: id });
      const running = await pod.status(id);
      expect(running.state).toBe(ContainerState.CONTAINER_RUNNING);
      expect(running.startedAt >= created.createdAt).toBe(true);
      expect(running.finishedAt).toBe(0n);
      const exited = await pod.exited(id);
      expect(exited).toMatchObject({ exitCode: 3, reason: 'Error', startedAt: running.startedAt });
      expect(exited.finishedAt > exited.startedAt).toBe(true);
    });
    it('that end well are completed', async () => {
      const pod = fresh().pod({});
      await pod.run();
      const id = await pod.start({ command: ['true'] });
      expect(await pod.exited(id)).toMatchObject({ exitCode: 0, reason: 'Completed' });
    });
    it('are found by id, sandbox, label and state', async () => {
      const pods = fresh();
      const pod = pods.pod({});
      const other = pods.pod({});
      const sandboxId = await pod.run();
      await other.run();
      const created = await pod.create({ name: 'created', command: runsForever });
      const running = await pod.start({ name: 'running', command: runsForever });
      const elsewhere = await other.start({ command: runsForever });
      const list = async (filter: object) =>
        (await cri().listContainers({ filter })).containers.map(({ id }) => id).sort();
      expect(await list({ id: created })).toEqual([created]);
      expect(await list({ podSandboxId: sandboxId })).toEqual([created, running].sort());
      expect(await list({ labelSelector: other.uidSelector })).toEqual([elsewhere]);
      expect(await list({ labelSelector: pods.runSelector })).toEqual([created, running, elsewhere].sort());
      const state = (state: ContainerState) => ({ labelSelector: pods.runSelector, state: { state } });
      expect(await list(state(ContainerState.CONTAINER_CREATED))).toEqual([created]);
      expect(await list(state(ContainerState.CONTAINER_RUNNING))).toEqual([running, elsewhere].sort());
      expect(await list({ id: running, podSandboxId: 'nosuchsandbox' })).toEqual([]);
      const { containers } = await cri().listContainers({ filter: { id: running } });
      expect(containers[0]).toMatchObject({
        podSandboxId: sandboxId,
        metadata: { name: 'running' },
        labels: pod.uidSelector,
        state: ContainerState.CONTAINER_RUNNING,
      });
    });
    it('keep their name for themselves until they are removed; a new attempt has a new name', async () => {
      const pod = fresh().pod({});
      await pod.run();
      const first = await pod.start({ command: ['true'] });
      await pod.exited(first);
      await expect(pod.create({ command: ['true'] })).rejects.toThrow(
        /failed to reserve container name .* is reserved for/,
      );
      const second = await pod.start({ command: ['false'], attempt: 1 });
      expect(await pod.exited(second)).toMatchObject({ exitCode: 1 });
      const { createdAt } = await pod.status(first);
      expect((await pod.status(second)).createdAt > createdAt).toBe(true);
      await cri().removeContainer({ containerId: first });
      await pod.create({ command: ['true'] });
    });
    it('do not start twice, nor after they exited', async () => {
      const pod = fresh().pod({});
      await pod.run();
      const id = await pod.start({ command: runsForever });
      await expect(cri().startContainer({ containerId: id })).rejects.toThrow(/CONTAINER_RUNNING/);
      await cri().stopContainer({ containerId: id, timeout: 10 });
      await expect(cri().startContainer({ containerId: id })).rejects.toThrow(/CONTAINER_EXITED/);
    });
    it('need an image that is there', async () => {
      const pod = fresh().pod({});
      await pod.run();
      const error = await fails(pod.create({ command: ['true'], image: subject().missingImage }));
      expect(error).toBeInstanceOf(CriError);
    });
    it('that are gone answer NotFound', async () => {
      const containerId = 'nosuchcontainer';
      expect(await fails(cri().containerStatus({ containerId }))).toSatisfy(isNotFound);
      expect(await fails(cri().startContainer({ containerId }))).toSatisfy(isNotFound);
      expect(await fails(cri().execSync({ containerId, cmd: ['true'], timeout: 5 }))).toSatisfy(isNotFound);
      const create = cri().createContainer({
        podSandboxId: 'nosuchsandbox',
        config: {},
        sandboxConfig: {},
      });
      expect(await fails(create)).toSatisfy(isNotFound);
    });
    it('are removed more than once without complaint, and while they run', async () => {
      const pod = fresh().pod({});
      await pod.run();
      const id = await pod.start({ command: ignoresTerm });
      await cri().removeContainer({ containerId: id });
      expect(await fails(cri().containerStatus({ containerId: id }))).toSatisfy(isNotFound);
      await cri().removeContainer({ containerId: id });
    });
  });

  describe('stopping', () => {
    it('lets a container end by itself within its grace', async () => {
      const pod = fresh().pod({});
      await pod.run();
      const id = await pod.start({ command: waitsForTerm(7) });
      await pod.settled();
      await cri().stopContainer({ containerId: id, timeout: 30 });
      expect(await pod.status(id)).toMatchObject({
        state: ContainerState.CONTAINER_EXITED,
        exitCode: 7,
        reason: 'Error',
      });
    });
    it('kills it when the grace is over', async () => {
      const pod = fresh().pod({});
      await pod.run();
      const id = await pod.start({ command: ignoresTerm });
      await pod.settled();
      await cri().stopContainer({ containerId: id, timeout: 1 });
      const status = await pod.status(id);
      expect(status).toMatchObject({ state: ContainerState.CONTAINER_EXITED, exitCode: 137 });
      expect(status.finishedAt - status.startedAt >= 900_000_000n).toBe(true);
    });
    it('again with less grace takes effect at once', async () => {
      const pod = fresh().pod({});
      await pod.run();
      const id = await pod.start({ command: ignoresTerm });
      await pod.settled();
      const patient = new AbortController();
      const first = fails(
        cri().stopContainer({ containerId: id, timeout: 3600 }, { signal: patient.signal }),
      );
      await pod.settled();
      patient.abort();
      await first;
      await cri().stopContainer({ containerId: id, timeout: 1 });
      expect(await pod.status(id)).toMatchObject({ state: ContainerState.CONTAINER_EXITED, exitCode: 137 });
    });
    it('without grace kills at once', async () => {
      const pod = fresh().pod({});
      await pod.run();
      const id = await pod.start({ command: waitsForTerm(0) });
      await cri().stopContainer({ containerId: id, timeout: 0 });
      expect(await pod.status(id)).toMatchObject({ exitCode: 137 });
    });
    it('is no error for what has stopped or never started', async () => {
      const pod = fresh().pod({});
      await pod.run();
      const never = await pod.create({ name: 'never', command: runsForever });
      const ended = await pod.start({ command: ['true'] });
      await pod.exited(ended);
      for (const containerId of [never, ended]) await cri().stopContainer({ containerId, timeout: 5 });
      expect(await pod.status(ended)).toMatchObject({ exitCode: 0 });
      expect((await pod.status(never)).state).toBe(ContainerState.CONTAINER_CREATED);
    });
  });

  describe('commands', () => {
    it('give their output and exit code', async () => {
      const pod = fresh().pod({});
      await pod.run();
      const containerId = await pod.start({ command: runsForever });
      const cmd = ['sh', '-c', 'echo to stdout; echo to stderr >&2; exit 4'];
      const answer = await cri().execSync({ containerId, cmd, timeout: 30 });
      expect(Buffer.from(answer.stdout).toString()).toBe('to stdout\n');
      expect(Buffer.from(answer.stderr).toString()).toBe('to stderr\n');
      expect(answer.exitCode).toBe(4);
      expect((await cri().execSync({ containerId, cmd: ['true'], timeout: 0 })).exitCode).toBe(0);
    });
    it('that take too long end with DeadlineExceeded', async () => {
      const pod = fresh().pod({});
      await pod.run();
      const containerId = await pod.start({ command: runsForever });
      const error = await fails(cri().execSync({ containerId, cmd: ['sleep', '100'], timeout: 1 }));
      expect(error).toSatisfy(isDeadlineExceeded);
      expect((await pod.status(containerId)).state).toBe(ContainerState.CONTAINER_RUNNING);
    });
    it('need a running container', async () => {
      const pod = fresh().pod({});
      await pod.run();
      const containerId = await pod.start({ command: ['true'] });
      await pod.exited(containerId);
      await expect(cri().execSync({ containerId, cmd: ['true'], timeout: 5 })).rejects.toThrow(
        /container is in CONTAINER_EXITED state/,
      );
    });
  });
}
