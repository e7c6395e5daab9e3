import { describe, expect, it } from 'vitest';
import type { PersistentVolumeSpec, Pod, SELinuxOptions } from '../../kube/index.js';
import type { VolumeSpec } from '../contracts.js';
import { accessModeLabel, askedLabels, decideLabel, labelConflict } from './label-decision.js';

const fileLabel = { user: 'system_u', role: 'object_r', type: 'container_file_t', level: 's0' };
const label = (level: string, user = 'system_u'): string => `${user}:object_r:container_file_t:${level}`;

interface Shape {
  readonly pod?: SELinuxOptions;
  /** Of each container; undefined: it has none. */
  readonly containers: readonly (SELinuxOptions | undefined)[];
  readonly other?: SELinuxOptions;
}

function podOf({ pod, containers, other }: Shape): Pod {
  const mounting = containers.map((seLinuxOptions, index) => ({
    name: `c${index}`,
    image: 'i',
    ...(seLinuxOptions === undefined ? {} : { securityContext: { seLinuxOptions } }),
    volumeMounts: [{ name: 'data', mountPath: '/v' }],
  }));
  return {
    metadata: { uid: 'u', name: 'p', namespace: 'n' },
    spec: {
      ...(pod === undefined ? {} : { securityContext: { seLinuxOptions: pod } }),
      containers: [
        ...mounting,
        ...(other === undefined
          ? []
          : [
              {
                name: 'o',
                image: 'i',
                securityContext: { seLinuxOptions: other },
                volumeDevices: [{ name: 'data', devicePath: '/d' }],
              },
            ]),
      ],
    },
  };
}

describe('the labels that containers ask for', () => {
  it.each<[string, Shape, readonly string[], boolean]>([
    ['none without options', { containers: [undefined] }, [], false],
    ['none for empty options', { pod: {}, containers: [{ level: '' }] }, [], false],
    ["the pod's", { pod: { level: 's0:c1' }, containers: [undefined] }, [label('s0:c1')], false],
    [
      "the container's over the pod's",
      { pod: { level: 's1' }, containers: [{ level: 's2' }] },
      [label('s2')],
      false,
    ],
    ['with the user', { containers: [{ user: 'staff_u', level: 's0' }] }, [label('s0', 'staff_u')], false],
    [
      'not with type and role',
      { containers: [{ type: 'spc_t', role: 'r', level: 's0:c1,c2' }] },
      [label('s0:c1,c2')],
      false,
    ],
    ['one for equal options', { containers: [{ level: 's1' }, { level: 's1' }] }, [label('s1')], false],
    [
      'several, sorted',
      { containers: [{ level: 's2' }, { level: 's1' }] },
      [label('s1'), label('s2')],
      false,
    ],
    [
      'not those of containers without options',
      { containers: [{ level: 's1' }, undefined] },
      [label('s1')],
      false,
    ],
    [
      'not those of users of the device',
      { containers: [{ level: 's1' }], other: { level: 's2' } },
      [label('s1')],
      false,
    ],
    ['open without a level', { containers: [{ type: 't' }] }, [], true],
  ])('are %s', (_, shape, labels, isOpen) => {
    expect(askedLabels(podOf(shape), ['data'], fileLabel)).toEqual({ labels, isOpen, problem: undefined });
  });

  it.each([
    [{ level: 's0",exec,x="' }, 'seLinuxOptions.level "s0\\",exec,x=\\"" is no SELinux level'],
    [{ level: 's0 s1' }, 'seLinuxOptions.level "s0 s1" is no SELinux level'],
    [{ user: 'a:b', level: 's0' }, 'seLinuxOptions.user "a:b" is no SELinux user'],
    [{ level: 's'.repeat(257) }, 'seLinuxOptions.level is longer than 256 characters'],
  ])('%j make no label', (options, problem) => {
    expect(askedLabels(podOf({ containers: [options] }), ['data'], fileLabel)).toEqual({
      labels: [],
      isOpen: false,
      problem,
    });
  });

  it('count only for the volumes that are asked about', () => {
    const pod = podOf({ containers: [{ level: 's1' }] });
    expect(askedLabels(pod, ['other'], fileLabel).labels).toEqual([]);
  });
});

const persistent = (...accessModes: string[]): VolumeSpec => {
  const spec: PersistentVolumeSpec = accessModes.length === 0 ? {} : { accessModes };
  return {
    kind: 'persistent',
    volume: { name: 'data' },
    persistentVolume: { metadata: { name: 'pv' }, spec },
    readOnly: false,
  };
};
const inline: VolumeSpec = { kind: 'inline', volume: { name: 'data', emptyDir: {} } };
const one = { labels: ['a'], isOpen: false, problem: undefined };
const two = { labels: ['a', 'b'], isOpen: false, problem: undefined };
const none = { labels: [], isOpen: false, problem: undefined };
const open = { labels: [], isOpen: true, problem: undefined };
const bad = { labels: [], isOpen: false, problem: 'bad level' };

describe('the label of a mount', () => {
  const base = {
    asked: one,
    spec: persistent('ReadWriteOnce'),
    isSupported: true,
    changePolicy: undefined,
    allModes: true,
  };
  const decided = (text: string, inAllModes = text, warning?: string) => ({
    kind: 'decided',
    label: text,
    labelInAllModes: inAllModes,
    ...(warning === undefined ? {} : { warning }),
  });
  const multiple = {
    kind: 'refused',
    finding: 'pod_context_mismatch',
    problem: 'multiple SELinux labels found: a,b',
  };
  const rows: [string, Partial<Parameters<typeof decideLabel>[0]>, object][] = [
    ['the one that is asked for', {}, decided('a')],
    ['the same with the policy MountOption', { changePolicy: 'MountOption' }, decided('a')],
    ['none with the policy Recursive', { changePolicy: 'Recursive' }, decided('')],
    ['none without the driver', { isSupported: false }, decided('')],
    ['none if none is asked for', { asked: none }, decided('')],
    ['none if a level is left to the runtime', { asked: open }, decided('')],
    ['none if only some levels are', { asked: { ...one, isOpen: true } }, decided('')],
    ['none of an inline volume', { spec: inline }, decided('')],
    ['refused if there are several', { asked: two }, multiple],
    ['refused so also without the driver', { asked: two, isSupported: false }, multiple],
    ['refused so also with the policy Recursive', { asked: two, changePolicy: 'Recursive' }, multiple],
    [
      'only warned of in an inline volume',
      { asked: two, spec: inline },
      decided('', '', 'pod_context_mismatch'),
    ],
    [
      'refused if it makes no sense',
      { asked: bad },
      { kind: 'refused', finding: 'container', problem: 'bad level' },
    ],
    ['none that makes no sense where it is not used', { asked: bad, isSupported: false }, decided('')],
    ['off: none, but known', { allModes: false }, decided('', 'a')],
    ['off: of a volume for one pod', { allModes: false, spec: persistent('ReadWriteOncePod') }, decided('a')],
    [
      'off: not beside another mode',
      { allModes: false, spec: persistent('ReadWriteOncePod', 'ReadWriteOnce') },
      decided('', 'a'),
    ],
    ['off: not without modes', { allModes: false, spec: persistent() }, decided('', 'a')],
    ['off: warned of several', { allModes: false, asked: two }, decided('', '', 'pod_context_mismatch')],
    [
      'off: refused of a volume for one pod',
      { allModes: false, asked: two, spec: persistent('ReadWriteOncePod') },
      multiple,
    ],
    ['off: warned of nonsense', { allModes: false, asked: bad }, decided('', '', 'container')],
  ];
  it.each(rows)('is %s', (_, input, expected) => {
    expect(decideLabel({ ...base, ...input })).toEqual(expected);
  });
});

describe('pods with one volume', () => {
  const volume = (text: string, inAllModes = text) => ({
    innerName: 'pv',
    label: text,
    labelInAllModes: inAllModes,
  });
  it.each([
    ['alone', [], volume('a'), { kind: 'none' }],
    ['of one label', [volume('a')], volume('a'), { kind: 'none' }],
    [
      'of two labels',
      [volume('a'), volume('a')],
      volume('b'),
      { kind: 'refused', problem: 'conflicting SELinux labels of volume pv: "a" and "b"' },
    ],
    [
      'with and without a label',
      [volume('a')],
      volume(''),
      { kind: 'refused', problem: 'conflicting SELinux labels of volume pv: "a" and ""' },
    ],
    ['that would conflict', [volume('', 'a')], volume('', 'b'), { kind: 'warning' }],
  ])('%s', (_, others, wanted, expected) => {
    expect(labelConflict(others, wanted)).toEqual(expected);
  });
});

it.each([
  [inline, 'inline'],
  [persistent('ReadWriteOnce', 'ReadWriteMany'), 'RWX'],
  [persistent('ReadOnlyMany'), 'ROX'],
  [persistent('ReadWriteOnce'), 'RWO'],
  [persistent('ReadWriteOncePod'), 'RWOP'],
  [persistent(), ''],
])('metrics name the access mode of %j %s', (spec, name) => {
  expect(accessModeLabel(spec)).toBe(name);
});
