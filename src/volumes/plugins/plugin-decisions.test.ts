import { describe, expect, it } from 'vitest';
import type { Container, Pod, PodSpec, ResourceRequirements } from '../../kube/index.js';
import type { VolumeSpec } from '../contracts.js';
import { downwardFiles } from './downward-files.js';
import { hostPathProblem, hostPathVerdict } from './host-path-type.js';
import { hugePageSize, mountedPageBytes } from './huge-pages.js';
import { localMountOptions } from './local.js';
import { nestedMountPoints } from './nested-mounts.js';
import { nfsOptions } from './nfs.js';
import { configMapFiles, secretFiles } from './object-files.js';
import { noswapSupport, podMemoryLimitBytes, tmpfsOptions, tmpfsSizeBytes } from './tmpfs-options.js';
import { credentialMode, fileOwner, fsUserOf } from './volume-modes.js';

const Mi = 1024n * 1024n;

function podOf(spec: Partial<PodSpec>, metadata: Partial<Pod['metadata']> = {}): Pod {
  return {
    metadata: { uid: 'u', name: 'p', namespace: 'default', ...metadata },
    spec: { containers: [], ...spec },
  };
}
const limited = (name: string, memory?: string): Container => ({
  name,
  ...(memory === undefined ? {} : { resources: { limits: { memory } } }),
});

describe('tmpfsSizeBytes', () => {
  const rows: [rule: string, pod: bigint | undefined, limit: bigint | undefined, expected: bigint][] = [
    ["without limits, the node's allocatable", undefined, undefined, 1024n * Mi],
    ["at most the pod's limit", 64n * Mi, undefined, 64n * Mi],
    ["the pod's limit wins over a larger sizeLimit", 64n * Mi, 1024n * Mi, 64n * Mi],
    ['a smaller sizeLimit wins', 64n * Mi, 10n * Mi, 10n * Mi],
    ['limits beyond the node are ignored', 2048n * Mi, 4096n * Mi, 1024n * Mi],
    ['limits of zero are ignored', 0n, 0n, 1024n * Mi],
  ];
  it.each(rows)('%s', (_rule, podLimitBytes, sizeLimitBytes, expected) => {
    expect(tmpfsSizeBytes({ allocatableBytes: 1024n * Mi, podLimitBytes, sizeLimitBytes })).toBe(expected);
  });
});

describe('podMemoryLimitBytes', () => {
  const rows: [rule: string, spec: Partial<PodSpec>, expected: bigint | undefined][] = [
    ['the sum of all containers', { containers: [limited('a', '64Mi'), limited('b', '36Mi')] }, 100n * Mi],
    ['none if a container has none', { containers: [limited('a', '64Mi'), limited('b')] }, undefined],
    [
      'none if an init container has none',
      { containers: [limited('a', '64Mi')], initContainers: [limited('i')] },
      undefined,
    ],
    [
      'the larger of init and regular',
      { containers: [limited('a', '64Mi')], initContainers: [limited('i', '80Mi')] },
      80n * Mi,
    ],
    [
      "the pod's own limit",
      { containers: [limited('a')], resources: { limits: { memory: '32Mi' } } },
      32n * Mi,
    ],
  ];
  it.each(rows)('%s', (_rule, spec, expected) => {
    expect(podMemoryLimitBytes(podOf(spec))).toBe(expected);
  });
});

describe('tmpfs options', () => {
  const rows: [release: string, inUserNamespace: boolean, expected: string][] = [
    ['6.4.0', false, 'yes'],
    ['6.18.44-fc', false, 'yes'],
    ['7.0', false, 'yes'],
    ['6.3.9', false, 'try'],
    ['5.14.0-503.el9', false, 'try'],
    ['6.18.0', true, 'no'],
  ];
  it.each(rows)('noswap on %s, in a user namespace: %s', (release, inUserNamespace, expected) => {
    expect(noswapSupport(release, inUserNamespace)).toBe(expected);
  });
  it('name a size only if there is one', () => {
    expect(tmpfsOptions(10n, true)).toEqual(['size=10', 'noswap']);
    expect(tmpfsOptions(0n, false)).toEqual([]);
  });
});

describe('hugePageSize', () => {
  const requesting = (...sizes: string[]): Partial<PodSpec> => ({
    containers: sizes.map((size) => ({
      name: size,
      resources: { requests: { [`hugepages-${size}`]: '4Mi', cpu: '1' } },
    })),
  });
  const inPod: { resources: ResourceRequirements } = { resources: { requests: { 'hugepages-2Mi': '4Mi' } } };
  const rows: [rule: string, medium: string, spec: Partial<PodSpec>, expected: string][] = [
    ['the only requested size', 'HugePages', requesting('2Mi', '2Mi'), '2Mi'],
    ['the size of the medium', 'HugePages-1Gi', requesting('2Mi', '1Gi'), '1Gi'],
    ['the size in any spelling', 'HugePages-2048Ki', requesting('2Mi'), '2Mi'],
    ['init containers count', 'HugePages', { initContainers: requesting('2Mi').containers }, '2Mi'],
    ['pod-level requests count', 'HugePages', inPod, '2Mi'],
  ];
  it.each(rows)('%s', (_rule, medium, spec, expected) => {
    expect(hugePageSize(medium, podOf(spec))).toBe(expected);
  });
  const failures: [rule: string, medium: string, spec: Partial<PodSpec>, message: string][] = [
    [
      'two sizes',
      'HugePages',
      requesting('2Mi', '1Gi'),
      "medium: HugePages can't be used if container requests multiple huge page sizes",
    ],
    [
      'none',
      'HugePages',
      {},
      'medium HugePages: hugePages storage requested, but there is no resource request for huge pages',
    ],
    [
      'another one',
      'HugePages-1Gi',
      requesting('2Mi'),
      'medium HugePages-1Gi: hugePages storage requested, but there is no resource request for huge pages',
    ],
    ['no size', 'HugePages-big', requesting('2Mi'), 'medium HugePages-big: what follows'],
  ];
  it.each(failures)('refused: %s', (_rule, medium, spec, message) => {
    expect(() => hugePageSize(medium, podOf(spec))).toThrow(message);
  });
  it('is parsed from mount options', () => {
    expect(mountedPageBytes(['rw', 'pagesize=2M'])).toBe(2n * Mi);
    expect(mountedPageBytes(['rw', 'pagesize=1024M'])).toBe(1024n * Mi);
    expect(mountedPageBytes(['rw'])).toBeUndefined();
  });
});

describe('files of objects', () => {
  const configMap = { data: { a: 'A', b: 'ä' }, binaryData: { c: Buffer.from([0, 255]).toString('base64') } };
  const read = (files: ReturnType<typeof configMapFiles>) =>
    Object.fromEntries(
      [...files].map(([path, { data, mode }]) => [path, [Buffer.from(data).toString('latin1'), mode]]),
    );
  const request = { items: undefined, defaultMode: 0o644, optional: false };

  it('are all keys with exact bytes', () => {
    expect(read(configMapFiles(configMap, request))).toEqual({
      a: ['A', 0o644],
      b: [Buffer.from('ä').toString('latin1'), 0o644],
      c: ['\0\u00ff', 0o644],
    });
    expect(read(secretFiles({ data: { k: 'AP8=' } }, { ...request, defaultMode: 0o400 }))).toEqual({
      k: ['\0\u00ff', 0o400],
    });
  });
  it("are the items at their paths; an item's mode wins", () => {
    const items = [
      { key: 'a', path: 'path/to/a', mode: 0o400 },
      { key: 'c', path: 'c' },
    ];
    expect(read(configMapFiles(configMap, { ...request, items }))).toEqual({
      'path/to/a': ['A', 0o400],
      c: ['\0\u00ff', 0o644],
    });
  });
  it('skip missing keys only if optional', () => {
    const items = [{ key: 'data-4', path: 'x' }];
    expect(() => configMapFiles(configMap, { ...request, items })).toThrow(
      /^configmap references non-existent config key: data-4$/,
    );
    expect(() => secretFiles({}, { ...request, items })).toThrow(
      /^references non-existent secret key: data-4$/,
    );
    expect(read(secretFiles({}, { ...request, items, optional: true }))).toEqual({});
  });
  it('need a defaultMode', () => {
    expect(() => configMapFiles(configMap, { ...request, defaultMode: undefined })).toThrow(
      'no defaultMode used, not even the default value for it',
    );
  });
});

describe('downwardFiles', () => {
  const pod = podOf(
    {
      containers: [
        { name: 'app', resources: { limits: { cpu: '1250m', memory: '64Mi' }, requests: { cpu: '10m' } } },
        { name: 'bare' },
      ],
      initContainers: [{ name: 'init' }],
    },
    {
      name: 'web',
      namespace: 'shop',
      uid: 'u',
      labels: { key2: 'b', key1: 'value1' },
      annotations: { a: 'x "y"' },
    },
  );
  const nodeAllocatable = { cpu: '4', memory: '8Gi', 'ephemeral-storage': '10Gi' };
  const read = (items: Parameters<typeof downwardFiles>[0]['items']) =>
    downwardFiles({ pod, items, defaultMode: 0o644, nodeAllocatable });
  const field = (fieldPath: string) => ({ path: 'f', fieldRef: { fieldPath } });
  const resource = (name: string, containerName: string, divisor?: string) => ({
    path: 'f',
    resourceFieldRef: { resource: name, containerName, ...(divisor === undefined ? {} : { divisor }) },
  });

  const rows: [
    rule: string,
    item: ReturnType<typeof field> | ReturnType<typeof resource>,
    expected: string,
  ][] = [
    ['name', field('metadata.name'), 'web'],
    ['namespace', field('metadata.namespace'), 'shop'],
    ['uid', field('metadata.uid'), 'u'],
    ['labels are sorted lines', field('metadata.labels'), 'key1="value1"\nkey2="b"'],
    ['annotations are quoted', field('metadata.annotations'), 'a="x \\"y\\""'],
    ['one label', field("metadata.labels['key1']"), 'value1'],
    ['a missing label', field("metadata.labels['none']"), ''],
    ['cpu is rounded up to cores', resource('limits.cpu', 'app'), '2'],
    ['cpu in millicores', resource('limits.cpu', 'app', '1m'), '1250'],
    ["a missing limit is the node's allocatable", resource('limits.cpu', 'bare'), '4'],
    ['a missing limit of an init container, too', resource('limits.memory', 'init', '1Gi'), '8'],
    ['a missing request is 0', resource('requests.memory', 'app'), '0'],
    ['huge pages', resource('limits.hugepages-2Mi', 'app'), '0'],
  ];
  it.each(rows)('%s', (_rule, item, expected) => {
    expect(read([item]).get('f')).toEqual({ data: expected, mode: 0o644 });
  });

  const failures: [
    rule: string,
    items: (ReturnType<typeof field> | ReturnType<typeof resource>)[],
    message: string,
  ][] = [
    ['addresses are not available in files', [field('status.podIP')], 'unsupported fieldPath: status.podIP'],
    ['unknown containers', [resource('limits.cpu', 'x')], 'container x not found'],
    ['unknown resources', [resource('limits.gpu', 'app')], 'unsupported container resource : limits.gpu'],
    [
      'all errors together',
      [field('spec.nodeName'), resource('limits.cpu', 'x')],
      '[unsupported fieldPath: spec.nodeName, container x not found]',
    ],
    [
      'subscripts on other fields',
      [field("spec.x['y']")],
      'fieldPath "spec.x[\'y\']" does not support subscript',
    ],
  ];
  it.each(failures)('refused: %s', (_rule, items, message) => {
    expect(() => read(items)).toThrow(message);
  });
  it('gives an item its own mode', () => {
    expect(read([{ ...field('metadata.name'), mode: 0o400 }] as never).get('f')?.mode).toBe(0o400);
  });
});

describe('fsUser and the mode of credentials', () => {
  const as = (name: string, runAsUser?: number): Container => ({
    name,
    ...(runAsUser === undefined ? {} : { securityContext: { runAsUser } }),
  });
  const rows: [rule: string, spec: Partial<PodSpec>, fsUser: number | undefined, mode: number][] = [
    [
      'all containers as one user',
      { containers: [as('a', 1000)], initContainers: [as('i', 1000)] },
      1000,
      0o600,
    ],
    ["the pod's user", { containers: [as('a')], securityContext: { runAsUser: 7 } }, 7, 0o600],
    ['root counts as a user', { containers: [as('a', 0)] }, 0, 0o600],
    ['different users', { containers: [as('a', 1000), as('b', 2000)] }, undefined, 0o644],
    ['a container without a user', { containers: [as('a', 1000), as('b')] }, undefined, 0o644],
    [
      'ephemeral containers count',
      { containers: [as('a', 1000)], ephemeralContainers: [as('e', 1)] },
      undefined,
      0o644,
    ],
    [
      'an fsGroup alone restricts the file',
      { containers: [as('a')], securityContext: { fsGroup: 5 } },
      undefined,
      0o600,
    ],
    ['no user at all', { containers: [as('a')] }, undefined, 0o644],
  ];
  it.each(rows)('%s', (_rule, spec, fsUser, mode) => {
    expect(fsUserOf(podOf(spec))).toBe(fsUser);
    expect(credentialMode(podOf(spec), 0o644)).toBe(mode);
  });
});

it.each<[rule: string, allowed: boolean, ofAll: number | undefined, own: number | undefined, is: unknown]>([
  ["an item's own user goes first", true, 1000, 2000, 2000],
  ["else the volume's", true, 1000, undefined, 1000],
  ['root may be chosen', true, 1000, 0, 0],
  ['nobody is chosen', true, undefined, undefined, undefined],
  ['nobody may be chosen', false, 1000, 2000, undefined],
])('fileOwner: %s', (_rule, allowed, ofAll, own, is) => {
  expect(fileOwner(allowed, ofAll)(own)).toBe(is);
});

it('files of objects and of the pod have their owners', () => {
  const owner = fileOwner(true, 1000);
  const items = [
    { key: 'a', path: 'a' },
    { key: 'b', path: 'b', user: 2000 },
  ];
  const data = { a: '', b: '' };
  const ownersOf = (files: ReadonlyMap<string, { fsUser?: number | undefined }>): unknown =>
    [...files.values()].map(({ fsUser }) => fsUser);
  const request = { defaultMode: 0o644, optional: false, owner };
  expect(ownersOf(secretFiles({ data }, { ...request, items }))).toEqual([1000, 2000]);
  expect(ownersOf(configMapFiles({ data }, { ...request, items: undefined }))).toEqual([1000, 1000]);
  const fieldRef = { fieldPath: 'metadata.name' };
  const downward = [
    { path: 'a', fieldRef },
    { path: 'b', fieldRef, user: 0 },
  ];
  const files = downwardFiles({
    pod: podOf({}),
    items: downward,
    defaultMode: 0o644,
    nodeAllocatable: {},
    owner,
  });
  expect(ownersOf(files)).toEqual([1000, 0]);
});

describe('nestedMountPoints', () => {
  const mounts = (...paths: [name: string, mountPath: string][]): Partial<PodSpec> => ({
    containers: [{ name: 'c', volumeMounts: paths.map(([name, mountPath]) => ({ name, mountPath })) }],
  });
  const rows: [rule: string, spec: Partial<PodSpec>, expected: string[]][] = [
    ['none', mounts(['v', '/a'], ['w', '/b']), []],
    ['below', mounts(['v', '/a'], ['w', '/a/b/c']), ['b/c']],
    ['not a path that only shares the prefix', mounts(['v', '/a'], ['w', '/ab']), []],
    ['the first level only', mounts(['v', '/a'], ['w', '/a/b'], ['x', '/a/b/c']), ['b']],
    ['paths are cleaned', mounts(['v', '/a/'], ['w', '/a/../a//b/']), ['b']],
    ['each mount of the volume', mounts(['v', '/a'], ['v', '/c'], ['w', '/a/x'], ['w', '/c/y']), ['x', 'y']],
  ];
  it.each(rows)('%s', (_rule, spec, expected) => {
    expect(nestedMountPoints(podOf(spec), 'v')).toEqual(expected);
  });
  it('refuses to leave the container', () => {
    expect(() => nestedMountPoints(podOf(mounts(['v', '../a'])), 'v')).toThrow(
      'invalid container mount point ../a',
    );
  });
});

describe('hostPathVerdict', () => {
  const failed = (wanted: string, found: string) => ({
    kind: 'refused',
    message: `hostPath type check failed: /x is not ${wanted}, it's a ${found}`,
  });
  const absent = (wanted: string) => ({
    kind: 'refused',
    message: `hostPath type check failed, /x is not ${wanted}, unable to determine its type: path "/x" does not exist`,
  });
  const rows: [type: string, found: Parameters<typeof hostPathVerdict>[2], expected: object][] = [
    ['', undefined, { kind: 'fine' }],
    ['', 'file', { kind: 'fine' }],
    ['DirectoryOrCreate', undefined, { kind: 'create-directory' }],
    ['DirectoryOrCreate', 'directory', { kind: 'fine' }],
    ['DirectoryOrCreate', 'file', failed('a directory', 'File')],
    ['Directory', undefined, absent('a directory')],
    ['Directory', 'file', failed('a directory', 'File')],
    ['FileOrCreate', undefined, { kind: 'create-file' }],
    ['FileOrCreate', 'directory', failed('a file', 'Directory')],
    ['File', undefined, absent('a file')],
    ['File', 'file', { kind: 'fine' }],
    ['Socket', 'socket', { kind: 'fine' }],
    ['Socket', 'file', failed('a socket file', 'File')],
    ['CharDevice', 'character-device', { kind: 'fine' }],
    ['CharDevice', undefined, absent('a character device')],
    ['BlockDevice', 'block-device', { kind: 'fine' }],
    ['BlockDevice', 'character-device', failed('a block device', 'CharDevice')],
    [
      'File',
      'fifo',
      {
        kind: 'refused',
        message:
          'hostPath type check failed, /x is not a file, unable to determine its type: only recognise file, directory, socket, block device and character device',
      },
    ],
    ['Folder', 'directory', { kind: 'refused', message: 'Folder is an invalid volume type' }],
  ];
  it.each(rows)('%s where %s is', (type, found, expected) => {
    expect(hostPathVerdict('/x', type, found)).toEqual(expected);
  });
  it('refuses a path with `..`', () => {
    expect(hostPathProblem('/tmp/../etc')).toBe("invalid HostPath `/tmp/../etc`: must not contain '..'");
    expect(hostPathProblem('/tmp/a..b')).toBeUndefined();
  });
});

describe('network and local mounts', () => {
  const persistent = (spec: object, readOnly = false): VolumeSpec => ({
    kind: 'persistent',
    volume: { name: 'v' },
    persistentVolume: { metadata: { name: 'pv' }, spec },
    readOnly,
  });
  it('nfs options are sorted, distinct, and read-only as requested', () => {
    expect(nfsOptions(persistent({ mountOptions: ['soft', 'nolock', 'soft'] }, true))).toEqual([
      'nolock',
      'ro',
      'soft',
    ]);
    expect(
      nfsOptions(persistent({ mountOptions: ['soft,nolock', 'context="a:s0:c1,c2",hard', ''] })),
    ).toEqual(['context="a:s0:c1,c2"', 'hard', 'nolock', 'soft']);
    expect(
      nfsOptions({ kind: 'inline', volume: { name: 'v', nfs: { server: 's', path: '/', readOnly: true } } }),
    ).toEqual(['ro']);
  });
  it('local volumes are bound', () => {
    expect(localMountOptions(persistent({}))).toEqual(['bind']);
    expect(localMountOptions(persistent({ mountOptions: ['noexec'] }, true))).toEqual([
      'bind',
      'ro',
      'noexec',
    ]);
  });
});
