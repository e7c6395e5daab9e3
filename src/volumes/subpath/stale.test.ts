/** subPaths whose target shows something that is stale, hangs or is in use. */
import { expect, it } from 'vitest';
import { type HostFault, simulatedHost } from '../../host/index.js';
import { prepareSubPath } from './index.js';

const podDirectory = '/var/pods/uid';
const volumePath = '/var/volume';
const target = `${podDirectory}/volume-subpaths/vol/main/0`;

it.each<[rule: string, effect: HostFault['effect'] | undefined]>([
  ['answers with a stale handle', { kind: 'fail', code: 'ESTALE' }],
  ['has lost its server', { kind: 'fail', code: 'ENOTCONN' }],
  ['does not answer in time', { kind: 'fail', code: 'ETIMEDOUT' }],
  ['shows another directory, which is in use', undefined],
])('a mount that %s is taken away at once, and the subPath is bound again', async (_, effect) => {
  const { files, hold, mounts, machine } = simulatedHost();
  for (const name of ['dir', 'other']) await files.mkdir(`${volumePath}/${name}`, { recursive: true });
  await files.mkdir(target, { recursive: true });
  await mounts.mount({ source: `${volumePath}/other`, target, options: ['bind'] });
  const user = await hold(target);
  let isOnce = true;
  const at: HostFault['at'] = ({ operation, path }) => operation === 'stat' && path === target && isOnce;
  const faults = effect === undefined ? [] : [{ at, when: 'before' as const, effect }];
  const host = simulatedHost({ machine, faults });
  const shown = prepareSubPath({
    host,
    podDirectory,
    innerVolumeName: 'vol',
    containerName: 'main',
    mountIndex: 0,
    volumePath,
    subPath: 'dir',
    volumeMountName: 'data',
  });
  await expect(shown).resolves.toBe(target);
  isOnce = false;
  expect((await host.files.stat(target)).inode).toBe((await host.files.stat(`${volumePath}/dir`)).inode);
  expect(await mounts.list()).toHaveLength(2);
  expect(host.calls.filter(({ operation }) => operation === 'unmount')).toHaveLength(1);
  await user.close();
});
