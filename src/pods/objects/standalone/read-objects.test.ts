import { describe, expect, it } from 'vitest';
import { readObjects } from './read-objects.js';

const configMap = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: shop}\n';
const secret = 'apiVersion: v1\nkind: Secret\nmetadata: {name: keys}\n';

function failure(text: string): string {
  try {
    readObjects(text, 'objects.yaml');
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return '';
}

describe('readObjects', () => {
  it('reads every document of a file', () => {
    const { objects } = readObjects(
      `${configMap}data: {a: "1"}\n---\n${secret}stringData: {b: two}\n---\n` +
        'apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: pv}\nspec: {hostPath: {path: /data}, capacity: {storage: 1Gi}}\n---\n' +
        'apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: claim}\nspec: {volumeName: pv}\n',
      'objects.yaml',
    );
    expect(objects.configMaps).toMatchObject([{ metadata: { name: 'settings' }, data: { a: '1' } }]);
    expect(objects.secrets).toMatchObject([{ metadata: { name: 'keys' }, stringData: { b: 'two' } }]);
    expect(objects.persistentVolumes).toMatchObject([{ spec: { hostPath: { path: '/data' } } }]);
    expect(objects.persistentVolumeClaims).toMatchObject([{ spec: { volumeName: 'pv' } }]);
  });

  it('reads disks of storage networks', () => {
    const iscsi = `{targetPortal: 192.0.2.7, iqn: "iqn.2001-04.com.example:a", lun: 0, secretRef: {name: s, namespace: vault}}`;
    const { objects, warnings } = readObjects(
      `apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: a}\nspec: {iscsi: ${iscsi}}\n---\n` +
        'apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: b}\nspec: {fc: {targetWWNs: ["500a0981891b8dc5"], lun: 1}}\n',
      'objects.yaml',
    );
    expect(warnings).toEqual([]);
    expect(objects.persistentVolumes).toMatchObject([
      {
        spec: { iscsi: { targetPortal: '192.0.2.7', lun: 0, secretRef: { name: 's', namespace: 'vault' } } },
      },
      { spec: { fc: { targetWWNs: ['500a0981891b8dc5'], lun: 1 } } },
    ]);
  });

  it('reads lists', () => {
    const list =
      'apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n- {apiVersion: v1, kind: Secret, metadata: {name: b}}\n';
    const { objects } = readObjects(list, 'objects.yaml');
    expect(objects.configMaps).toHaveLength(1);
    expect(objects.secrets).toHaveLength(1);
    const typed = 'apiVersion: v1\nkind: SecretList\nitems: [{metadata: {name: b}}]\n';
    expect(readObjects(typed, 'objects.yaml').objects.secrets).toHaveLength(1);
  });

  it('warns of unknown fields', () => {
    expect(readObjects(`${configMap}datas: {a: b}\n`, 'objects.yaml').warnings).toEqual([
      'objects.yaml:4:1: datas: unknown field, ignored: did you mean "data"?',
    ]);
  });

  const rows: [rule: string, text: string, message: string][] = [
    ['a name is needed', 'apiVersion: v1\nkind: ConfigMap\n', 'a ConfigMap needs a name'],
    [
      'values are text',
      `${configMap}data: {a: 1}\n`,
      'objects.yaml:4:8: data.a: expected a string, found a number; put it in quotes',
    ],
    [
      'binary data is base64',
      `${configMap}binaryData: {a: "%%"}\n`,
      'binaryData.a: the value is not base64; put plain text below "data:" instead',
    ],
    [
      'so is the data of secrets',
      `${secret}data: {a: hello!}\n`,
      'data.a: the value is not base64; put plain text below "stringData:" instead',
    ],
    ['keys are file names', `${configMap}data: {"a/b": "1"}\n`, 'the key must be letters, digits'],
    [
      'keys do not begin with two dots',
      `${configMap}data: {"..a": "1"}\n`,
      'the key must not begin with ".."',
    ],
    ['a key is unique', `${configMap}data: {a: "1"}\nbinaryData: {a: aGk=}\n`, 'the same key is in "data"'],
    [
      'a megabyte is the limit',
      `${configMap}data: {a: ${'x'.repeat(1024 * 1024 + 1)}}\n`,
      'its data has 1048577 bytes',
    ],
    [
      'pods do not belong here',
      'apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n',
      'kind: is "Pod"; only ConfigMap, Secret, PersistentVolume, PersistentVolumeClaim are allowed here',
    ],
    [
      'a persistent volume is somewhere',
      'apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: p}\nspec: {}\n',
      'spec: it names no place',
    ],
    [
      'all problems are reported at once',
      `${configMap}data: {a: 1}\n---\n${secret}data: {b: "%"}\n`,
      'data.b: the value is not base64',
    ],
  ];
  it.each(rows)('%s', (_rule, text, message) => {
    expect(failure(text)).toContain(message);
  });

  it.each([
    ['wrong base64', `${secret}data: {a: "p4ssw0rd!"}\n`],
    ['an alias', `${secret}stringData:\n  a: *p4ssw0rd\n`],
    ['a tag', `${secret}stringData:\n  a: !p4ssw0rd\n  b: [`],
    ['an escape', `${secret}stringData:\n  a: "\\qp4ssw0rd"\n`],
    ['a broken flow', `${secret}stringData: {a: "x" p4ssw0rd}\n`],
    ['a broken block', `${secret}stringData:\n  a: |p4ssw0rd\n`],
    ['a broken line', `${secret}stringData:\n  a: 'x' 'p4ssw0rd'\n p4ssw0rd\n`],
    ['a list', `${secret}data: [p4ssw0rd]\n`],
  ])('never quotes what may be secret: %s', (_rule, text) => {
    const message = failure(text);
    expect(message).not.toBe('');
    expect(message).not.toContain('p4ssw0rd');
  });
});
