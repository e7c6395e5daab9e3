import { describe, expect, it } from 'vitest';
import { InvalidManifest } from '../../kube/index.js';
import { type ManifestOrigin, priorityNotice, readManifest } from './static-pod.js';

const manifest = (name: string, more = ''): string =>
  `apiVersion: v1\nkind: Pod\nmetadata:\n  name: ${name}\nspec:\n  containers:\n  - name: c\n    image: nodelet.test/busybox:1\n${more}`;
const file = (path = '/m/foo.yaml'): ManifestOrigin => ({ kind: 'file', path });
const http: ManifestOrigin = { kind: 'http', url: 'http://x/pods', shown: 'http://x/pods' };
const context = { nodeName: 'Node-A', refuseApiReferences: true };
const read = (text: string, origin: ManifestOrigin = file(), nodeName = 'Node-A') =>
  readManifest(text, origin, { ...context, nodeName });
const uidOf = (text: string, origin?: ManifestOrigin, nodeName?: string) =>
  read(text, origin, nodeName).pods[0]?.metadata.uid;

describe('readManifest', () => {
  it('gives a pod its name, UID, node and tolerations', () => {
    const [pod] = read(manifest('foo')).pods;
    expect(pod?.metadata).toMatchObject({ name: 'foo-node-a', namespace: 'default' });
    expect(pod?.metadata.uid).toMatch(/^[0-9a-f]{32}$/);
    expect(pod?.metadata.annotations).toEqual({ 'kubernetes.io/config.hash': pod?.metadata.uid });
    expect(pod?.spec.nodeName).toBe('Node-A');
    expect(pod?.spec.tolerations).toEqual([{ operator: 'Exists', effect: 'NoExecute' }]);
    expect(pod?.status?.phase).toBe('Pending');
  });
  it('gives a pod of a built-in class its priority, and no other UID than without', () => {
    const [pod] = read(manifest('foo', '  priorityClassName: system-node-critical\n')).pods;
    expect(pod?.spec.priority).toBe(2_000_001_000);
    const given = '  priorityClassName: system-node-critical\n  priority: 2000001000\n';
    expect(pod?.metadata.uid).not.toBe(uidOf(manifest('foo', given)));
    expect(read(manifest('foo', '  priorityClassName: mine\n')).pods[0]?.spec.priority).toBeUndefined();
  });
  it('adds no toleration to pods from a URL', () => {
    expect(read(manifest('foo'), http).pods[0]?.spec.tolerations).toBeUndefined();
  });
  it.each<[string, () => string | undefined, boolean]>([
    [
      'formatting',
      () =>
        uidOf(
          JSON.stringify({
            apiVersion: 'v1',
            kind: 'Pod',
            metadata: { name: 'foo' },
            spec: { containers: [{ image: 'nodelet.test/busybox:1', name: 'c' }] },
          }),
        ),
      true,
    ],
    ['the image', () => uidOf(manifest('foo').replace(':1', ':2')), false],
    ['the path', () => uidOf(manifest('foo'), file('/m/bar.yaml')), false],
    ['the node', () => uidOf(manifest('foo'), file(), 'other'), false],
    ['the source', () => uidOf(manifest('foo'), http), false],
  ])('the UID with another %s', (_what, uid, same) => {
    expect(uid() === uidOf(manifest('foo'))).toBe(same);
  });
  it('keeps a given UID, also as the hash', () => {
    const [pod] = read(manifest('foo').replace('name: foo', 'name: foo\n  uid: abc')).pods;
    expect(pod?.metadata.uid).toBe('abc');
    expect(pod?.metadata.annotations?.['kubernetes.io/config.hash']).toBe('abc');
  });
  it('takes a list from a URL but not from a file', () => {
    const list = JSON.stringify({
      apiVersion: 'v1',
      kind: 'PodList',
      items: ['a', 'b'].map((name) => ({
        metadata: { name },
        spec: { containers: [{ name: 'c', image: 'i:1' }] },
      })),
    });
    expect(read(list, http).pods.map((pod) => pod.metadata.name)).toEqual(['a-node-a', 'b-node-a']);
    expect(() => read(list)).toThrow(/contains exactly one Pod/);
  });
  it.each<[string, string, RegExp]>([
    ['no name', manifest('""'), /foo\.yaml:4:\d+: metadata\.name: invalid pod: name is needed for the pod/],
    [
      'an unknown restart policy',
      manifest('foo', '  restartPolicy: Sometimes\n'),
      /foo\.yaml:9:\d+: spec\.restartPolicy: invalid pod: .*Unsupported value/,
    ],
    [
      'a missing image',
      manifest('foo').replace('    image: nodelet.test/busybox:1\n', ''),
      /spec\.containers\[0\]\.image: invalid pod: .*Required value/,
    ],
    [
      'a wrongly typed field',
      manifest('foo', '  terminationGracePeriodSeconds: soon\n'),
      /foo\.yaml:9:\d+: spec\.terminationGracePeriodSeconds/,
    ],
    ['two documents', `${manifest('a')}---\n${manifest('b')}`, /put each pod into its own file/],
    ['nothing at all', '\n# later\n', /empty/],
    ['HTML', '<html><body>hello</body></html>', /expected a Pod/],
    [
      'a service account',
      manifest('foo', '  serviceAccountName: x\n'),
      /static pods may not reference serviceaccounts/,
    ],
    [
      'a secret volume',
      manifest('foo', '  volumes:\n  - name: v\n    secret: {secretName: s}\n'),
      /static pods may not reference secrets/,
    ],
    [
      'a resource claim',
      manifest('foo', '  resourceClaims:\n  - name: r\n    resourceClaimName: x\n'),
      /static pods may not reference resourceclaims/,
    ],
  ])('rejects %s, naming the place', (_what, text, message) => {
    expect(() => read(text)).toThrow(InvalidManifest);
    expect(() => read(text)).toThrow(message);
  });
  it('reports unknown fields but goes on', () => {
    const { pods, warnings } = read(manifest('foo', '  restartpolicy: Never\n'));
    expect(pods).toHaveLength(1);
    expect(warnings[0]).toMatch(/foo\.yaml:9:\d+: spec\.restartpolicy/);
  });
});

describe('priorityNotice', () => {
  it.each([
    ['neither', {}, undefined],
    ['only a class', { priorityClassName: 'high' }, /^Static pod has priorityClassName and nil priority\./],
    ['only a priority', { priority: 7 }, /^Static pod has priority without priorityClassName\./],
    ['the critical pair', { priorityClassName: 'system-node-critical', priority: 2_000_001_000 }, undefined],
    [
      'another pair',
      { priorityClassName: 'system-node-critical', priority: 7 },
      /^Static pod has a priority other than 2000001000 or a priorityClassName other than system-node-critical\./,
    ],
  ])('%s', (_rule, spec, expected) => {
    const notice = priorityNotice(spec);
    if (expected === undefined) expect(notice).toBeUndefined();
    else expect(notice).toMatch(expected);
  });
  it('is told for a manifest of one pod, not for a list', () => {
    const notices: string[] = [];
    const tell = { ...context, onNotice: (text: string) => notices.push(text) };
    readManifest(manifest('foo', '  priority: 7\n'), file(), tell);
    readManifest(manifest('bar', '  priority: 8\n'), file(), tell);
    expect(new Set(notices).size).toBe(1);
    expect(notices).toHaveLength(2);
  });
});
