import { describe, expect, it } from 'vitest';
import { formatProblem } from '../../kube/index.js';
import { localPod } from './local-pod.js';
import { emptyContent, type ManifestContent, readManifestText } from './manifest.js';

const read = (...texts: string[]): ManifestContent => {
  const content = emptyContent();
  for (const [index, text] of texts.entries()) readManifestText(text, `m${index}.yaml`, content);
  return content;
};
const names = ({ pods }: ManifestContent): string[] =>
  pods.map(({ pod }) => `${pod.metadata.namespace}/${pod.metadata.name}`);
const problems = ({ problems: found }: ManifestContent): string[] => found.map(formatProblem);

const template = (policy = '', labels = '{app: web}'): string => `
  template:
    metadata: {labels: ${labels}}
    spec:
      ${policy === '' ? '' : `restartPolicy: ${policy}`}
      containers: [{name: c, image: 'i:1', command: [sleep, '1']}]
`;
const workload = (kind: string, version: string, spec = '', policy = ''): string =>
  `apiVersion: ${version}\nkind: ${kind}\nmetadata: {name: web, namespace: ns, labels: {l: v}}\nspec:\n  selector: {matchLabels: {app: web}}\n  ${spec}${template(policy)}`;
const pod = (name: string, more = ''): string =>
  `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}${more}}\nspec: {containers: [{name: c, image: 'i:1'}]}\n`;

describe('readManifestText', () => {
  it.each<[string, string, (string | RegExp)[]]>([
    ['a pod', pod('a'), ['default/a']],
    ['a pod in its namespace', pod('a', ', namespace: ns'), ['ns/a']],
    ['several documents', `${pod('a')}---\n${pod('b')}---\n`, ['default/a', 'default/b']],
    [
      'JSON',
      '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i:1"}]}}',
      ['default/a'],
    ],
    [
      'a List of kinds',
      `apiVersion: v1\nkind: List\nitems:\n- ${pod('a').replaceAll('\n', '\n  ')}\n- ${workload('StatefulSet', 'apps/v1').replaceAll('\n', '\n  ')}`,
      ['default/a', 'ns/web-0'],
    ],
    [
      'a PodList, whose items need no kind',
      "apiVersion: v1\nkind: PodList\nitems: [{metadata: {name: a}, spec: {containers: [{name: c, image: 'i:1'}]}}]",
      ['default/a'],
    ],
    ['a generated name', pod('', '').replace('name: ', 'generateName: x-'), [/^default\/x-[a-z0-9]{5}$/]],
    [
      'a Deployment',
      workload('Deployment', 'apps/v1', 'replicas: 2'),
      [/^ns\/web-[a-z0-9]{10}-[a-z0-9]{5}$/, /^ns\/web-[a-z0-9]{10}-[a-z0-9]{5}$/],
    ],
    ['a Deployment of one', workload('Deployment', 'apps/v1'), [/^ns\/web-/]],
    ['a Deployment scaled to nothing', workload('Deployment', 'apps/v1', 'replicas: 0'), []],
    ['a ReplicaSet', workload('ReplicaSet', 'apps/v1'), [/^ns\/web-[a-z0-9]{5}$/]],
    [
      'a StatefulSet numbers its pods',
      workload('StatefulSet', 'apps/v1', 'replicas: 3'),
      ['ns/web-0', 'ns/web-1', 'ns/web-2'],
    ],
    ['a DaemonSet has one pod', workload('DaemonSet', 'apps/v1'), [/^ns\/web-[a-z0-9]{5}$/]],
    ['a Job', workload('Job', 'batch/v1', '', 'Never'), [/^ns\/web-[a-z0-9]{5}$/]],
    [
      'a Job with completions',
      workload('Job', 'batch/v1', 'completions: 2', 'OnFailure'),
      [/^ns\/web-/, /^ns\/web-/],
    ],
    [
      'a Job in parallel',
      workload('Job', 'batch/v1', 'parallelism: 2', 'OnFailure'),
      [/^ns\/web-/, /^ns\/web-/],
    ],
    ['a suspended Job', workload('Job', 'batch/v1', 'suspend: true', 'Never'), []],
  ])('%s', (_what, text, wanted) => {
    const content = read(text);
    expect(problems(content)).toEqual([]);
    expect(names(content)).toEqual(
      wanted.map((name) => (typeof name === 'string' ? name : expect.stringMatching(name))),
    );
    expect(names(read(text))).toEqual(names(content));
    expect(new Set(names(content)).size).toBe(wanted.length);
  });

  it('keeps labels, and adds labels and owner of the controller', () => {
    const { metadata } = read(workload('StatefulSet', 'apps/v1', 'serviceName: svc')).pods[0]!.pod;
    expect(metadata.labels).toEqual({
      app: 'web',
      'statefulset.kubernetes.io/pod-name': 'web-0',
      'apps.kubernetes.io/pod-index': '0',
    });
    expect(metadata.ownerReferences).toMatchObject([{ kind: 'StatefulSet', name: 'web', controller: true }]);
    expect(read(workload('StatefulSet', 'apps/v1', 'serviceName: svc')).pods[0]!.pod.spec).toMatchObject({
      hostname: 'web-0',
      subdomain: 'svc',
    });
  });
  it('gives each pod of a StatefulSet the claims of its templates', () => {
    const content = read(
      workload(
        'StatefulSet',
        'apps/v1',
        'replicas: 2\n  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce]}}]',
      ),
    );
    expect(content.pods[1]!.pod.spec.volumes).toEqual([
      { name: 'data', persistentVolumeClaim: { claimName: 'data-web-1' } },
    ]);
    expect(content.objects.persistentVolumeClaims.map(({ metadata }) => metadata.name)).toEqual([
      'data-web-0',
      'data-web-1',
    ]);
  });
  it('limits the parallelism of a Job', () => {
    const content = read(workload('Job', 'batch/v1', 'completions: 3\n  parallelism: 2', 'Never'));
    expect(content.pods.map(({ job }) => job)).toEqual(Array(3).fill({ key: 'Job ns/web', parallelism: 2 }));
  });
  it('collects the objects of pods, and names ignored objects', () => {
    const content = read(
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {k: v}\n---\n' +
        'apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: ns}\nstringData: {k: v}\ndata: {b: YQ==}\n---\n' +
        'apiVersion: v1\nkind: Service\nmetadata: {name: web}\n---\n' +
        'apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: i}\n',
    );
    expect(problems(content)).toEqual([]);
    expect(content.objects.configMaps).toMatchObject([{ metadata: { name: 'c' }, data: { k: 'v' } }]);
    expect(content.objects.secrets).toMatchObject([
      { metadata: { namespace: 'ns' }, data: { b: 'YQ==' }, stringData: { k: 'v' } },
    ]);
    expect(content.ignored).toEqual(['Service web', 'Ingress i']);
  });

  it.each<[string, string, RegExp]>([
    ['a syntax error', 'kind: [', /^m0\.yaml:1:\d+: /],
    ['an empty file', '# only a comment\n', /^m0\.yaml: it is empty/],
    ['a misspelled kind', 'apiVersion: v1\nkind: Podd\n', /kind: "Podd" is unknown; did you mean Pod\?/],
    [
      'a kind in lower case',
      'apiVersion: apps/v1\nkind: deployment\n',
      /kind: "deployment" is unknown; did you mean Deployment\?/,
    ],
    ['no kind', 'apiVersion: v1\n', /^m0\.yaml:1:1: kind: is missing/],
    [
      'a wrong version',
      workload('Deployment', 'apps/v1beta1'),
      /^m0\.yaml:1:1: apiVersion: is "apps\/v1beta1"; write "apiVersion: apps\/v1"/,
    ],
    [
      'a field of the wrong type',
      pod('a').replace("'i:1'", '7'),
      /^m0\.yaml:4:\d+: spec\.containers\[0\]\.image: expected a string/,
    ],
    [
      'a field of the wrong type in a template, with its full path',
      workload('Deployment', 'apps/v1').replace("'i:1'", '7'),
      /^m0\.yaml:11:\d+: spec\.template\.spec\.containers\[0\]\.image: expected a string/,
    ],
    [
      'an invalid field of a template',
      workload('Deployment', 'apps/v1').replace('name: c,', 'name: C_,'),
      /^m0\.yaml:11:\d+: spec\.template\.spec\.containers\[0\]\.name: invalid pod: Invalid value/,
    ],
    [
      'an item of a list',
      'apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: a}\n  spec: {containers: [{name: c, image: 7}]}',
      /^m0\.yaml:7:\d+: items\[0\]\.spec\.containers\[0\]\.image: expected a string/,
    ],
    [
      'a pod without a name',
      pod('').replace('name: ', ''),
      /^m0\.yaml:3:\d+: metadata\.name: a Pod needs a name/,
    ],
    ['a CronJob', workload('CronJob', 'batch/v1'), /kind: a CronJob is started by a schedule.*kind: Job/],
    [
      'a Job with restartPolicy Always',
      workload('Job', 'batch/v1'),
      /spec\.template\.spec\.restartPolicy: the pods of a Job end/,
    ],
    [
      'a Deployment with restartPolicy Never',
      workload('Deployment', 'apps/v1', '', 'Never'),
      /restartPolicy: the pods of a Deployment do not end/,
    ],
    [
      'a wrong count',
      workload('Deployment', 'apps/v1', 'replicas: many'),
      /^m0\.yaml:6:\d+: spec\.replicas: expected a whole number/,
    ],
    ['too many pods', workload('Deployment', 'apps/v1', 'replicas: 5000'), /5000 pods are more than/],
    [
      'no template',
      'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {}\n',
      /spec\.template: a Deployment needs a pod template/,
    ],
    [
      'a secret that is not base64',
      'apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {k: "not base64!"}\n',
      /data\.k: the value is not/,
    ],
  ])('%s is a problem with place, field and fix, and stops nothing else', (_what, text, message) => {
    const content = read(text, pod('other'));
    expect(problems(content)[0]).toMatch(message);
    expect(names(content)).toEqual(['default/other']);
  });
  it('a duplicate name: the first pod wins', () => {
    const content = read(pod('a'), pod('a'));
    expect(problems(content)[0]).toMatch(
      /^m1\.yaml:3:\d+: metadata\.name: pod default\/a is also defined at m0\.yaml:1/,
    );
    expect(names(content)).toEqual(['default/a']);
  });
  it('warns about unknown fields', () => {
    const content = read(pod('a').replace('image:', 'imagePulPolicy: Never, image:'));
    expect(content.warnings.map(formatProblem)[0]).toMatch(
      /imagePulPolicy: unknown field, ignored: did you mean "imagePullPolicy"/,
    );
  });
});

describe('localPod', () => {
  const context = { nodeName: 'node', runName: 'r', hostNetwork: false };
  const made = (more = ''): ReturnType<typeof localPod> =>
    localPod(read(pod('a', more)).pods[0]!.pod, context);
  it('drops what an API server sets', () => {
    const { metadata, spec } = made(
      ', uid: x, resourceVersion: "7", creationTimestamp: 2020-01-01T00:00:00Z',
    );
    expect(metadata.uid).toMatch(/^[0-9a-f]{32}$/);
    expect(metadata).not.toHaveProperty('resourceVersion');
    expect(metadata).not.toHaveProperty('creationTimestamp');
    expect(spec.nodeName).toBe('node');
  });
  it('has the same UID only for the same pod of the same run', () => {
    expect(made().metadata.uid).toBe(made().metadata.uid);
    const { pod: source } = read(pod('a')).pods[0]!;
    expect(localPod(source, { ...context, runName: 's' }).metadata.uid).not.toBe(made().metadata.uid);
    expect(localPod(source, { ...context, hostNetwork: true }).metadata.uid).not.toBe(made().metadata.uid);
  });
});
