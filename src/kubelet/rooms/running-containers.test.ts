/** What runs, and what it is bound to: a runtime that does not tell must not make it look free. */
import { expect, it } from 'vitest';
import {
  Container,
  ContainerState,
  ContainerStatusResponse,
  CriError,
  criLabels,
  ListContainersResponse,
} from '../../cri/index.js';
import { listRunning } from './running-containers.js';

const labels = { [criLabels.podUid]: 'uid', [criLabels.containerName]: 'app' };
const container = Container.create({ id: 'c1', labels, state: ContainerState.CONTAINER_RUNNING });

const listedBy = (status: () => Promise<ContainerStatusResponse>): ReturnType<typeof listRunning> =>
  listRunning({
    listContainers: async () => ListContainersResponse.create({ containers: [container] }),
    containerStatus: status,
  });

it('a container is listed with its CPUs', async () => {
  const status = ContainerStatusResponse.create({ status: { resources: { linux: { cpusetCpus: '2-3' } } } });
  expect(await listedBy(async () => status)).toMatchObject([
    { podUid: 'uid', name: 'app', resources: { cpusetCpus: '2-3' } },
  ]);
});

it('one that has just gone is left out', async () => {
  expect(await listedBy(() => Promise.reject(new CriError('NotFound', 'gone')))).toEqual([]);
});

it.each(['DeadlineExceeded', 'Unavailable', 'Unknown'] as const)(
  'a runtime that says %s ends the listing',
  async (code) => {
    await expect(listedBy(() => Promise.reject(new CriError(code, 'no word')))).rejects.toThrow('no word');
  },
);
