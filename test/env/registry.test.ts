import { existsSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { OciImage } from '../../src/runtimes/containerd/oci.js';
import { startContainerd, type TestContainerd } from './containerd.js';
import { buildTestImages } from './images.js';
import { readProcess } from './processes.js';
import { protobuf, protobufField } from './protobuf.js';
import { startRegistry, type TestRegistry } from './registry.js';
import { CleanupStack } from './tempdir.js';

const auth = { user: 'someone', password: 'a secret: ü' };
const all = new CleanupStack();
const each = new CleanupStack();
let containerd: TestContainerd;
let image: OciImage;

beforeAll(async () => {
  containerd = await startContainerd({ cleanups: all, images: [] });
  image = (await buildTestImages()).exits;
});
afterAll(() => all.run());
afterEach(() => each.run());

/** As a kubelet pulls. */
async function pull(name: string, credentials?: typeof auth): Promise<string> {
  const authConfig = credentials && protobuf([1, credentials.user], [2, credentials.password]);
  const fields = authConfig ? ([[2, authConfig]] as const) : [];
  const request = protobuf([1, protobuf([1, name])], ...fields);
  return protobufField(await containerd.callCri('ImageService/PullImage', request), 1)!.toString();
}

describe.each([
  ['an open registry', undefined],
  ['a registry with a password', auth],
] as const)('%s', (_, credentials) => {
  let registry: TestRegistry;
  let name: string;

  beforeEach(async () => {
    registry = await startRegistry({ cleanups: each, auth: credentials });
    name = await registry.push(image);
    containerd.useRegistry(registry.host, registry.url);
  });

  it('serves to CRI what was pushed', async () => {
    expect(name).toBe(`${registry.host}/exits:1`);
    expect(await pull(name, credentials)).toBe(image.config.digest);
  });

  it('serves to ctr what was pushed', async () => {
    const user = credentials ? ['--user', `${credentials.user}:${credentials.password}`] : [];
    await containerd.ctr([
      'images',
      'pull',
      '--hosts-dir',
      containerd.layout.registryHostsDir,
      ...user,
      name,
    ]);
    expect((await containerd.ctr(['images', 'list', '--quiet'])).stdout).toContain(name);
  });

  it('stands in for another host', async () => {
    containerd.useRegistry('registry.nodelet.test', registry.url);
    expect(await pull('registry.nodelet.test/exits:1', credentials)).toBe(image.config.digest);
  });

  it('has what was pushed after it was down', async () => {
    await registry.kill();
    await expect(pull(name, credentials)).rejects.toThrow('connection refused');
    await registry.start();
    containerd.useRegistry(registry.host, registry.url);
    expect(await pull(`${registry.host}/exits:1`, credentials)).toBe(image.config.digest);
  });
});

describe('a registry with a password', () => {
  it.each([
    ['no credentials', undefined],
    ['a wrong password', { ...auth, password: 'wrong' }],
  ])('refuses %s', async (_, credentials) => {
    const registry = await startRegistry({ cleanups: each, auth });
    const name = await registry.push(image);
    containerd.useRegistry(registry.host, registry.url);
    await expect(pull(name, credentials)).rejects.toThrow(/authorization failed|401 Unauthorized/);
  });
});

it('has no image that was not pushed', async () => {
  const registry = await startRegistry({ cleanups: each });
  containerd.useRegistry(registry.host, registry.url);
  await expect(pull(`${registry.host}/nothing:1`)).rejects.toThrow('not found');
});

it('leaves nothing', async () => {
  const registry = await startRegistry();
  const pid = registry.pid!;
  await registry.push(image);
  await registry.stop();
  expect(readProcess(pid)).toBeUndefined();
  expect(existsSync(registry.dir.path)).toBe(false);
});
