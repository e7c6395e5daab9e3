import { describe, expect, it } from 'vitest';
import {
  Container,
  ContainerState,
  ListContainersResponse,
  ListPodSandboxResponse,
  PodSandbox,
  PodSandboxState,
  PodSandboxStatusResponse,
} from '../../cri/index.js';
import { OwnerBook } from './cadvisor-owner-book.js';

const sandboxId = 'a'.repeat(64);
const containerId = 'b'.repeat(64);
const pod = '/kubepods/pod1';
const all = ['/', '/kubepods', pod, `${pod}/${sandboxId}`, `${pod}/${containerId}`];

interface RuntimeNow {
  sandboxes: { id: string; state: PodSandboxState }[];
  containers: { id: string; state: ContainerState }[];
  tellsImages: boolean;
}

const { SANDBOX_READY, SANDBOX_NOTREADY } = PodSandboxState;
const { CONTAINER_RUNNING, CONTAINER_CREATED, CONTAINER_EXITED } = ContainerState;

function book(there: readonly string[] = all): { now: RuntimeNow; asked: () => number; book: OwnerBook } {
  const now: RuntimeNow = {
    sandboxes: [{ id: sandboxId, state: SANDBOX_READY }],
    containers: [{ id: containerId, state: CONTAINER_RUNNING }],
    tellsImages: true,
  };
  let asked = 0;
  const cri = {
    listPodSandbox: async () => {
      asked++;
      return ListPodSandboxResponse.create({
        items: now.sandboxes.map(({ id, state }) =>
          PodSandbox.create({ id, state, metadata: { name: 'web', namespace: 'default', uid: '1' } }),
        ),
      });
    },
    listContainers: async () =>
      ListContainersResponse.create({
        containers: now.containers.map(({ id, state }) =>
          Container.create({ id, state, podSandboxId: sandboxId, metadata: { name: 'app' } }),
        ),
      }),
    podSandboxStatus: async () => {
      if (!now.tellsImages) throw new Error('busy');
      return PodSandboxStatusResponse.create({ info: { info: '{"image":"pause:3"}' } });
    },
  };
  const sampler = { isThere: (cgroup: string) => there.includes(cgroup) };
  return {
    now,
    asked: () => asked,
    book: new OwnerBook({ cri, sampler, podCgroups: () => () => pod }),
  };
}

describe('OwnerBook', () => {
  it('asks the runtime once while the cgroups are the same', async () => {
    const { book: of, asked } = book();
    const first = await of.of(all, '/kubepods');
    expect(first.labels.get(`${pod}/${containerId}`)).toContain('pod="web",container="app"');
    expect(await of.of([...all], '/kubepods')).toBe(first);
    expect(asked()).toBe(1);
    await of.of([...all, '/kubepods/pod2'], '/kubepods');
    await of.of(all.slice(0, -1), '/kubepods');
    expect(asked()).toBe(3);
  });

  it.each<[string, (now: RuntimeNow) => void, readonly string[], string | undefined]>([
    [
      'a container is about to start',
      (now) => now.containers.splice(0, 1, { id: containerId, state: CONTAINER_CREATED }),
      all,
      '/kubepods',
    ],
    ['the runtime does not list a cgroup yet', (now) => now.containers.splice(0), all, '/kubepods'],
    ['a container is in none of the cgroups', () => undefined, all.slice(0, -1), '/kubepods'],
    [
      'the image of a sandbox is not known',
      (now) => {
        now.tellsImages = false;
      },
      all,
      '/kubepods',
    ],
    ['pods have no cgroup of their own', () => undefined, all, undefined],
  ])('asks again when %s', async (_, change, listed, podsCgroup) => {
    const { book: of, asked, now } = book();
    change(now);
    await of.of(listed, podsCgroup);
    await of.of(listed, podsCgroup);
    expect(asked()).toBe(2);
  });

  it('does not ask again for what has ended and has no cgroup', async () => {
    const { book: of, asked, now } = book();
    now.sandboxes.push({ id: 'c'.repeat(64), state: SANDBOX_NOTREADY });
    now.containers.push({ id: 'd'.repeat(64), state: CONTAINER_EXITED });
    await of.of(all, '/kubepods');
    await of.of(all, '/kubepods');
    expect(asked()).toBe(1);
  });
});
