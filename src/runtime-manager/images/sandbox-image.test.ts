import { describe, expect, it } from 'vitest';
import {
  CriError,
  Image,
  ImageStatusResponse,
  ListPodSandboxResponse,
  PodSandboxStatusResponse,
  StatusResponse,
} from '../../cri/index.js';
import {
  configuredSandboxImage,
  imageOfSandbox,
  isNamedLikeSandboxImage,
  type SandboxImageRuntime,
  sandboxImageIds,
} from './sandbox-image.js';

describe('the sandbox image that a runtime reports', () => {
  it.each([
    ['the name of its configuration', { config: '{"sandboxImage":"pause:1"}' }, 'pause:1'],
    ['nothing', {}, undefined],
    ['a configuration without the name', { config: '{"containerd":{}}' }, undefined],
    ['an empty name', { config: '{"sandboxImage":""}' }, undefined],
    ['a name that is not text', { config: '{"sandboxImage":1}' }, undefined],
    ['a configuration that is not JSON', { config: '[crio]\nroot = "x"' }, undefined],
    ['a configuration that is not an object', { config: 'null' }, undefined],
  ])('%s', (_rule, info: Record<string, string>, expected) => {
    expect(configuredSandboxImage(info)).toBe(expected);
  });
  it('the image of a sandbox', () => {
    expect(imageOfSandbox({ info: '{"pid":1,"image":"pause:1"}' })).toBe('pause:1');
  });
});

describe('isNamedLikeSandboxImage', () => {
  it.each([
    ['example.com/pause:3.10', true],
    ['pause', true],
    ['example.com:5000/team/pause@sha256:0123', true],
    ['example.com/mirrored-pause:3.6', true],
    ['example.com/pause-amd64:3.1', true],
    ['example.com/pause/tool:1', false],
    ['example.com/pauser:1', false],
    ['example.com/app:pause', false],
    ['example.com/applepause:1', false],
  ])('%s: %s', (name, expected) => {
    expect(isNamedLikeSandboxImage({ repoTags: [name], repoDigests: [] })).toBe(expected);
    expect(isNamedLikeSandboxImage({ repoTags: [], repoDigests: [name] })).toBe(expected);
  });
});

const images = ['app', 'pause', 'other-pause', 'infra'].map((name) =>
  Image.create({ id: `sha256:${name}`, repoTags: [`example.com/${name}:1`], size: 1 }),
);

interface Script {
  readonly config?: string;
  readonly sandboxes?: readonly {
    readonly id: string;
    readonly handler: string;
    readonly createdAt: bigint;
    readonly image?: string;
  }[];
}

function runtime({ config, sandboxes = [] }: Script, calls: string[] = []): SandboxImageRuntime {
  return {
    status: async ({ verbose }) => {
      expect(verbose).toBe(true);
      return StatusResponse.create({ info: config === undefined ? {} : { config } });
    },
    listPodSandbox: async () =>
      ListPodSandboxResponse.create({
        items: sandboxes.map(({ id, handler, createdAt }) => ({ id, runtimeHandler: handler, createdAt })),
      }),
    podSandboxStatus: async ({ podSandboxId = '', verbose }) => {
      expect(verbose).toBe(true);
      calls.push(podSandboxId);
      const image = sandboxes.find(({ id }) => id === podSandboxId)?.image;
      if (image === 'gone') throw new CriError('NotFound', 'no such sandbox');
      return PodSandboxStatusResponse.create({
        info: image === undefined ? {} : { info: JSON.stringify({ image }) },
      });
    },
    imageStatus: async ({ image: { image: name } = {} }) => {
      const image = images.find(({ repoTags }) => repoTags.includes(name ?? ''));
      return ImageStatusResponse.create(image === undefined ? {} : { image });
    },
  };
}

describe('sandboxImageIds', () => {
  const infra = '{"sandboxImage":"example.com/infra:1"}';
  const sandbox = (id: string, handler: string, createdAt: bigint, image?: string) => ({
    id,
    handler,
    createdAt,
    ...(image === undefined ? {} : { image }),
  });
  const rows: readonly (readonly [string, Script, readonly string[]])[] = [
    ['the one that the runtime is configured with', { config: infra }, ['infra']],
    ['none when that is not on the machine', { config: '{"sandboxImage":"example.com/absent:1"}' }, []],
    [
      'those of ready sandboxes when the configuration is unknown',
      {
        sandboxes: [sandbox('a', '', 1n, 'example.com/infra:1'), sandbox('b', 'vm', 1n, 'example.com/app:1')],
      },
      ['infra', 'app'],
    ],
    [
      'not that of a sandbox that was just removed',
      { sandboxes: [sandbox('a', '', 1n, 'gone'), sandbox('b', 'vm', 1n, 'example.com/app:1')] },
      ['app'],
    ],
    ['all that are named like one when nothing is known', {}, ['pause', 'other-pause']],
    [
      'the same when sandboxes report nothing either',
      { sandboxes: [sandbox('a', '', 1n)] },
      ['pause', 'other-pause'],
    ],
  ];
  it.each(rows)('%s', async (_rule, script, expected) => {
    expect([...(await sandboxImageIds(runtime(script), images))]).toEqual(
      expected.map((name) => `sha256:${name}`),
    );
  });
  it('asks only the newest sandbox of each handler', async () => {
    const calls: string[] = [];
    const sandboxes = [sandbox('old', '', 1n), sandbox('new', '', 2n), sandbox('vm', 'vm', 1n)];
    await sandboxImageIds(runtime({ sandboxes }, calls), images);
    expect(calls).toEqual(['new', 'vm']);
  });
});
