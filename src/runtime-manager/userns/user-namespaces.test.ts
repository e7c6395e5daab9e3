import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../async/index.js';
import type { Pod } from '../../kube/index.js';
import { Timeline } from '../../timeline/index.js';
import { testDurableFiles } from '../test-durable-files.js';
import { IdBlocks, type UserNamespaceMapping } from './id-blocks.js';
import { UserNamespaces, type UserNamespacesOptions } from './user-namespaces.js';

const block = (hostId: number, length = 65_536, containerId = 0): UserNamespaceMapping => {
  const mapping = { hostId, containerId, length };
  return { uidMappings: [mapping], gidMappings: [mapping] };
};

describe('blocks of ids', () => {
  it('each pod gets its own, never the machine’s; released ones are reused', () => {
    const blocks = new IdBlocks({ idsPerPod: 65_536, blocks: 2 });
    expect(blocks.allocate('a')).toEqual(block(65_536));
    expect(blocks.allocate('b')).toEqual(block(131_072));
    expect(blocks.allocate('a')).toEqual(block(65_536));
    expect(() => blocks.allocate('c')).toThrow('all 2 are in use');
    blocks.release('a');
    expect(blocks.allocate('c')).toEqual(block(65_536));
  });

  it('begin where the pool does', () => {
    const blocks = new IdBlocks({ idsPerPod: 65_536, firstId: 65_536 * 10, blocks: 2 });
    blocks.restore('b', block(65_536 * 11));
    expect(blocks.allocate('a')).toEqual(block(65_536 * 10));
    expect(() => blocks.allocate('c')).toThrow('all 2 are in use');
    expect(() => blocks.restore('c', block(65_536 * 9))).toThrow('not a block');
    expect(() => blocks.restore('c', block(65_536 * 12))).toThrow('not a block');
  });

  it('end with the largest id', () => {
    const blocks = new IdBlocks({ idsPerPod: 2 ** 31, blocks: 5 });
    expect(blocks.allocate('a')).toEqual(block(2 ** 31, 2 ** 31));
    expect(() => blocks.allocate('b')).toThrow('in use');
  });

  it.each<[string, UserNamespaceMapping, string]>([
    ['ids of the machine', block(0), 'not a block'],
    ['ids between blocks', block(65_537), 'not a block'],
    ['another length', block(65_536, 10), 'not a block'],
    ['beyond the last block', block(65_536 * 6), 'not a block'],
    ['not from 0', block(65_536, 65_536, 5), 'not a block'],
    ['nothing', { uidMappings: [], gidMappings: [] }, 'exactly one mapping'],
    ['groups unlike users', { ...block(65_536), gidMappings: block(131_072).gidMappings }, 'differ'],
    ['ids of another pod', block(131_072), 'belong to another pod'],
  ])('%s cannot be restored', (_, mapping, message) => {
    const blocks = new IdBlocks({ idsPerPod: 65_536, blocks: 5 });
    blocks.restore('other', block(131_072));
    expect(() => blocks.restore('a', mapping)).toThrow(message);
  });
});

describe('user namespaces of pods', () => {
  let rootDir: string;
  beforeEach(async () => {
    rootDir = await mkdtemp(join(tmpdir(), 'nodelet-userns-'));
  });
  afterEach(() => rm(rootDir, { recursive: true }));

  const pod = (uid: string, hostUsers: boolean | undefined = false): Pod => ({
    metadata: { name: uid, namespace: 'shop', uid },
    spec: { containers: [], ...(hostUsers === undefined ? {} : { hostUsers }) },
  });
  const open = async (
    supported = true,
    inForce: UserNamespacesOptions['inForce'] = async () => undefined,
  ) => {
    const timeline = new Timeline();
    const isSupported = () => supported;
    const namespaces = new UserNamespaces({
      rootDir,
      store: testDurableFiles(systemClock),
      timeline,
      isSupported,
      inForce,
      idsPerPod: 65_536,
      pool: async () => ({ firstId: 65_536, blocks: 10 }),
    });
    await namespaces.start();
    return { namespaces, timeline };
  };

  it('are for pods that request one', async () => {
    const { namespaces } = await open();
    expect(await namespaces.of(pod('a', true), '')).toBeUndefined();
    expect(
      await namespaces.of(
        { metadata: { uid: 'u', name: 'p', namespace: 'default' }, spec: { containers: [] } },
        '',
      ),
    ).toBeUndefined();
  });

  it('need a runtime that supports them', async () => {
    const { namespaces } = await open(false);
    await expect(namespaces.of(pod('a'), '')).rejects.toThrow(
      "can't set `spec.hostUsers: false`, runtime does not support user namespaces",
    );
    expect(await namespaces.of(pod('a', true), '')).toBeUndefined();
  });

  it('stay the same after a restart, and other pods get other ids', async () => {
    const before = await open();
    expect(await before.namespaces.of(pod('a'), '')).toEqual(block(65_536));
    expect(await before.namespaces.of(pod('b'), '')).toEqual(block(131_072));
    expect(JSON.parse(await readFile(join(rootDir, 'pods', 'b', 'userns'), 'utf8'))).toEqual(block(131_072));
    await rm(join(rootDir, 'pods', 'a'), { recursive: true });
    const { namespaces } = await open();
    expect(await namespaces.of(pod('c'), '')).toEqual(block(65_536));
    expect(await namespaces.of(pod('b'), '')).toEqual(block(131_072));
  });

  it('of deleted pods are free', async () => {
    const { namespaces } = await open();
    await namespaces.of(pod('a'), '');
    await namespaces.of(pod('b'), '');
    namespaces.keepOnly(new Set(['b']));
    expect(await namespaces.of(pod('c'), '')).toEqual(block(65_536));
  });

  it('of a pod that has ended are free, also after a restart', async () => {
    const { namespaces } = await open();
    await namespaces.of(pod('a'), '');
    await namespaces.release('a');
    await namespaces.release('a');
    const again = await open();
    for (const { namespaces: each } of [{ namespaces }, again]) {
      expect(await each.of(pod('b'), '')).toEqual(block(65_536));
    }
  });

  it('with a corrupt file are reported, and the pod does not start', async () => {
    await mkdir(join(rootDir, 'pods', 'a'), { recursive: true });
    await writeFile(join(rootDir, 'pods', 'a', 'userns'), JSON.stringify(block(7)));
    const { namespaces, timeline } = await open();
    expect(timeline.ofNode()[0]?.message).toContain('the user ids of pod a could not be restored');
    await expect(namespaces.of(pod('a'), '')).rejects.toThrow('user namespace of pod "a_shop(a)": ids 7 to');
  });
});
