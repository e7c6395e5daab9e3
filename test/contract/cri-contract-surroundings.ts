/** What a runtime does around containers: itself, logs, images, statistics, events, and calls as such. */
import { existsSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  type ContainerEventResponse,
  ContainerEventType,
  CriError,
  isDeadlineExceeded,
} from '../../src/cri/index.js';
import { type Contract, fails, ignoresTerm, runsForever } from './cri-contract-pods.js';

export function describeSurroundings({ cri, subject, fresh }: Contract): void {
  describe('the runtime', () => {
    it('tells its name and the version of the API', async () => {
      const version = await cri().version({ version: '0.1.0' });
      expect(version.version).toBe('0.1.0');
      expect(version.runtimeName).not.toBe('');
      expect(version.runtimeVersion).not.toBe('');
      expect(version.runtimeApiVersion).toBe('v1');
    });
    it('is ready, and so is its network', async () => {
      const { status } = await cri().status({});
      const conditions = new Map(status?.conditions.map(({ type, status }) => [type, status]));
      expect(conditions.get('RuntimeReady')).toBe(true);
      expect(conditions.get('NetworkReady')).toBe(true);
    });
  });

  describe('logs', () => {
    it('are lines with time, stream and tag', async () => {
      const pod = fresh().pod({});
      await pod.run();
      const id = await pod.start({ command: ['sh', '-c', 'echo out; echo err >&2; echo out again'] });
      const { logPath } = await pod.exited(id);
      expect(logPath).toBe(join(pod.logDirectory, 'main', '0.log'));
      const lines = await pod.logLines(logPath, 3);
      const time = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,9}(?:Z|[+-]\d\d:\d\d)`;
      for (const line of lines) expect(line).toMatch(new RegExp(`^${time} (stdout|stderr) F `));
      const of = (stream: string) =>
        lines.filter((line) => line.includes(` ${stream} F `)).map((line) => line.split(' F ')[1]);
      expect(of('stdout')).toEqual(['out', 'out again']);
      expect(of('stderr')).toEqual(['err']);
    });
    it('go to a new file after a rotation', async () => {
      const pod = fresh().pod({});
      await pod.run();
      const id = await pod.start({ command: ['sh', '-c', 'echo before; sleep 2; echo after'] });
      const { logPath } = await pod.status(id);
      await pod.logLines(logPath, 1);
      renameSync(logPath, `${logPath}.old`);
      await cri().reopenContainerLog({ containerId: id });
      expect(existsSync(logPath)).toBe(true);
      await pod.exited(id);
      expect((await pod.logLines(logPath, 1))[0]).toMatch(/ stdout F after$/);
      expect(readFileSync(`${logPath}.old`, 'utf8')).toMatch(/ stdout F before\n$/);
      expect(await fails(cri().reopenContainerLog({ containerId: id }))).toBeInstanceOf(CriError);
    });
  });

  describe('images', () => {
    it('that are there have an id, names and a size', async () => {
      const { image } = await cri().imageStatus({ image: { image: subject().image } });
      expect(image?.id).toMatch(/^sha256:[0-9a-f]{64}$/);
      expect(image?.repoTags).toContain(subject().image);
      expect(image?.size).toBeGreaterThan(0);
      const byId = await cri().imageStatus({ image: { image: image!.id } });
      expect(byId.image?.id).toBe(image!.id);
      const { images } = await cri().listImages({});
      expect(images.map(({ id }) => id)).toContain(image!.id);
    });
    it('that are not there have no status, which is no error', async () => {
      const { image } = await cri().imageStatus({ image: { image: subject().missingImage } });
      expect(image).toBeUndefined();
      await cri().removeImage({ image: { image: subject().missingImage } });
    });
    it('that nobody has cannot be pulled', async () => {
      const error = await fails(cri().pullImage({ image: { image: subject().missingImage } }));
      expect(error).toBeInstanceOf(CriError);
      expect(String(error)).toContain('failed to pull and unpack image');
      expect(String(error)).toContain(subject().notResolved ?? 'failed to resolve reference');
    });
    it('have a filesystem', async () => {
      const { imageFilesystems } = await cri().imageFsInfo({});
      expect(imageFilesystems[0]?.fsId?.mountpoint).not.toBe('');
      expect(imageFilesystems[0]!.timestamp > 0n).toBe(true);
    });
  });

  describe('statistics', () => {
    it('are there for what runs', async () => {
      const pod = fresh().pod({});
      await pod.run();
      const containerId = await pod.start({ command: runsForever });
      const { stats } = await cri().containerStats({ containerId });
      expect(stats?.attributes).toMatchObject({ id: containerId, metadata: { name: 'main' } });
      const list = await cri().listContainerStats({ filter: { labelSelector: pod.uidSelector } });
      expect(list.stats.map(({ attributes }) => attributes?.id)).toEqual([containerId]);
    });
  });

  describe('events', () => {
    it('tell of creation, start, stop and removal in that order, or are Unimplemented', async () => {
      if (!subject().containerEvents) {
        const error = await fails(follow(cri().getContainerEvents({}), [], false));
        expect(error).toMatchObject({ codeName: 'Unimplemented' });
        return;
      }
      const pod = fresh().pod({});
      await pod.run();
      const stop = new AbortController();
      const seen: ContainerEventResponse[] = [];
      const following = follow(cri().getContainerEvents({}, { signal: stop.signal }), seen);
      await pod.settled();
      const id = await pod.start({ command: ['true'] });
      await pod.exited(id);
      await cri().removeContainer({ containerId: id });
      const own = () => seen.filter(({ containerId }) => containerId === id);
      await expect.poll(() => own().length, { timeout: 10_000 }).toBe(4);
      stop.abort();
      await following;
      expect(own().map(({ containerEventType }) => containerEventType)).toEqual([
        ContainerEventType.CONTAINER_CREATED_EVENT,
        ContainerEventType.CONTAINER_STARTED_EVENT,
        ContainerEventType.CONTAINER_STOPPED_EVENT,
        ContainerEventType.CONTAINER_DELETED_EVENT,
      ]);
      expect(own()[1]?.podSandboxStatus?.metadata?.uid).toBe(pod.uid);
    });
  });

  describe('calls', () => {
    it('end with Canceled when their signal aborts', async () => {
      const pod = fresh().pod({});
      await pod.run();
      const containerId = await pod.start({ command: runsForever });
      const stop = new AbortController();
      const call = fails(
        cri().execSync({ containerId, cmd: ['sleep', '100'], timeout: 60 }, { signal: stop.signal }),
      );
      await pod.settled();
      stop.abort();
      expect(await call).toMatchObject({ codeName: 'Canceled' });
    });
    it('end with DeadlineExceeded after their time', async () => {
      const pod = fresh().pod({});
      await pod.run();
      const containerId = await pod.start({ command: ignoresTerm });
      await pod.settled();
      const call = cri().stopContainer({ containerId, timeout: 60 }, { timeoutMs: 300 });
      expect(await fails(call)).toSatisfy(isDeadlineExceeded);
    });
  });
}

async function follow(
  stream: AsyncIterable<ContainerEventResponse>,
  seen: ContainerEventResponse[],
  quietCancel = true,
): Promise<void> {
  try {
    for await (const event of stream) seen.push(event);
  } catch (error) {
    if (!(quietCancel && error instanceof CriError && error.codeName === 'Canceled')) throw error;
  }
}
