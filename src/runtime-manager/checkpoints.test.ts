/** Every file that the runtime manager restores after a crash, damaged in every way we thought of. */
import { describe, expect, it } from 'vitest';
import { systemClock } from '../async/index.js';
import { ListImagesResponse } from '../cri/index.js';
import { DurableFiles, type SimulatedHost, simulatedHost, type UnusableFile } from '../host/index.js';
import { Timeline } from '../timeline/index.js';
import { PullRecords } from './images/verification/index.js';
import { ActuatedResources } from './resize/index.js';
import { UserNamespaces } from './userns/index.js';

const rootDir = '/var/lib/kubelet';
const image = 'a.io/app:1';
const imageId = 'sha256:1';
const pod = {
  metadata: { name: 'web', namespace: 'shop', uid: 'uid-1' },
  spec: { hostUsers: false, containers: [{ name: 'app', resources: { limits: { memory: '1Mi' } } }] },
};

interface Opened {
  readonly host: SimulatedHost;
  readonly setAside: readonly UnusableFile[];
  readonly store: DurableFiles;
}

function openStore(host: SimulatedHost): Opened {
  const setAside: UnusableFile[] = [];
  const store = new DurableFiles({
    files: host.files,
    clock: systemClock,
    observer: { setAside: (file) => setAside.push(file), failing: () => {}, recovered: () => {} },
  });
  return { host, setAside, store };
}

async function openRecords({ store }: Opened): Promise<PullRecords> {
  const records = new PullRecords({
    rootDir,
    store,
    clock: systemClock,
    timeline: new Timeline(),
    policy: 'NeverVerifyPreloadedImages',
    allowlist: [],
    podSecrets: async () => [],
  });
  await records.start({
    listImages: async () => ListImagesResponse.create({ images: [{ id: imageId, repoTags: [image] }] }),
  });
  return records;
}

async function openUsers({ store }: Opened): Promise<UserNamespaces> {
  const mapping = { hostId: 131_072, containerId: 0, length: 65_536 };
  const users = new UserNamespaces({
    rootDir,
    store,
    timeline: new Timeline(),
    isSupported: () => true,
    inForce: async () => ({ uidMappings: [mapping], gidMappings: [mapping] }),
    idsPerPod: 65_536,
    pool: async () => ({ firstId: 65_536, blocks: 4 }),
  });
  await users.start();
  return users;
}

async function openActuated({ store }: Opened): Promise<ActuatedResources> {
  const actuated = new ActuatedResources({ checkpoint: { rootDir, store } });
  await actuated.start();
  return actuated;
}

/** Writes the file, and runs without it: its content is reconstructed. */
interface Checkpoint {
  readonly name: string;
  readonly file: RegExp;
  readonly write: (opened: Opened) => Promise<void>;
  readonly reopen: (opened: Opened) => Promise<void>;
}

const checkpoints: readonly Checkpoint[] = [
  {
    name: 'what containers were given',
    file: /\/actuated_pods_state$/,
    write: async (opened) => {
      const actuated = await openActuated(opened);
      actuated.podBegins(pod);
      await actuated.stop();
    },
    reopen: async (opened) => {
      const actuated = await openActuated(opened);
      expect(actuated.requirements('uid-1', 'app')).toEqual({});
      actuated.podBegins(pod);
      await actuated.stop();
    },
  },
  {
    name: 'who may use an image',
    file: /\/image_manager\/pulled\/sha256-[0-9a-f]{64}$/,
    write: async (opened) => {
      const records = await openRecords(opened);
      await records.pulled(image, imageId, undefined);
    },
    reopen: async (opened) => {
      const records = await openRecords(opened);
      expect(await records.mayUse(pod, image, imageId)).toBe(false);
    },
  },
  {
    name: 'a pull under way',
    file: /\/image_manager\/pulling\/sha256-[0-9a-f]{64}$/,
    write: async (opened) => await (await openRecords(opened)).pulling(image),
    reopen: async (opened) => {
      const records = await openRecords(opened);
      expect(await records.mayUse(pod, image, imageId)).toBe(false);
      await records.pulling(image);
    },
  },
  {
    name: "a pod's user ids",
    file: /\/pods\/uid-1\/userns$/,
    write: async (opened) => void (await (await openUsers(opened)).of(pod, '')),
    reopen: async (opened) => {
      const users = await openUsers(opened);
      expect(await users.of(pod, '')).toMatchObject({ uidMappings: [{ hostId: 131_072 }] });
    },
  },
];

type Damage = (host: SimulatedHost, path: string, text: string) => Promise<void> | void;
const put = (content: (text: string) => string): Damage => {
  return (host, path, text) => host.files.writeFile(path, content(text));
};
const instead = (make: (host: SimulatedHost, path: string) => Promise<void> | void): Damage => {
  return async (host, path) => {
    await host.files.unlink(path);
    await make(host, path);
  };
};
const damages: readonly [rule: string, reason: RegExp, damage: Damage][] = [
  ['empty', /^it is empty$/, put(() => '')],
  ['cut in half', /^it is not whole JSON$/, put((text) => text.slice(0, text.length / 2))],
  ['zeros', /^it is not whole JSON$/, put((text) => '\0'.repeat(text.length))],
  ['garbage', /^it is not whole JSON$/, put(() => 'garbage')],
  ['other JSON', /^it (has no data|holds no|does not hold)/, put(() => '{"a":1}')],
  ['null', /^it (has no data|holds no|does not hold)/, put(() => 'null')],
  ['a directory', /^it is a directory$/, instead((host, path) => host.files.mkdir(path))],
  ['a pipe', /^it is a fifo$/, instead((host, path) => host.machine.makeSpecialFile(path, 'fifo'))],
  [
    'unreadable',
    /^it cannot be read \(EIO\)$/,
    (host, path) =>
      host.inject({
        at: (call) => call.operation === 'readFile' && call.path === path,
        when: 'before',
        effect: { kind: 'fail', code: 'EIO' },
      }),
  ],
];

describe.each(checkpoints)('$name', ({ file, write, reopen }) => {
  it.each(damages)('%s: set aside, reported, and reconstructed', async (_, reason, damage) => {
    const host = simulatedHost();
    await write(openStore(host));
    const path = host.calls.findLast((call) => call.operation === 'rename' && file.test(call.path))?.path;
    if (path === undefined) throw new Error(`nothing was written to ${file}`);
    const text = new TextDecoder().decode(await host.files.readFile(path));
    await damage(host, path, text);
    const opened = openStore(host);
    await reopen(opened);
    expect(opened.setAside).toEqual([
      {
        path,
        movedTo: expect.stringMatching(/\.corrupt-\d{8}T\d{6}\.\d{3}Z$/),
        reason: expect.stringMatching(reason),
      },
    ]);
    await expect(host.files.lstat(opened.setAside[0]?.movedTo ?? '')).resolves.toBeDefined();
  });

  it.each([
    { unsyncedBytes: 'lost', unsyncedNames: 'kept' },
    { unsyncedBytes: 'cut in half', unsyncedNames: 'kept' },
    { unsyncedBytes: 'lost', unsyncedNames: 'undone' },
  ] as const)('after a power cut it is whole: %o', async (cut) => {
    const host = simulatedHost();
    await host.files.mkdir(rootDir, { recursive: true });
    host.machine.settle();
    await write(openStore(host));
    host.machine.powerCut(cut);
    const opened = openStore(host);
    const path = host.calls.findLast((call) => call.operation === 'rename' && file.test(call.path))?.path;
    await expect(opened.store.read(path ?? '', (text) => text)).resolves.toMatchObject({ kind: 'found' });
    expect(opened.setAside).toEqual([]);
  });
});

describe('files of another version', () => {
  it.each([
    ['what containers were given', 0, /^its checksum is wrong$/, /"checksum":\d+/, '"checksum":7'],
    ['who may use an image', 1, /^it holds no ImagePulledRecord of/, 'v1beta1', 'v9'],
    ['a pull under way', 2, /^it holds no ImagePullIntent of/, 'v1beta1', 'v9'],
  ] as const)('%s is set aside', async (_, index, reason, from, to) => {
    const checkpoint = checkpoints[index];
    const host = simulatedHost();
    await checkpoint?.write(openStore(host));
    const path = host.calls.findLast((call) => call.operation === 'rename')?.path ?? '';
    const text = new TextDecoder().decode(await host.files.readFile(path));
    await host.files.writeFile(path, text.replace(from, to));
    const opened = openStore(host);
    await checkpoint?.reopen(opened);
    expect(opened.setAside).toMatchObject([{ path, reason: expect.stringMatching(reason) }]);
  });
});
