import { describe, expect, it } from 'vitest';
import { decodePods } from './decode.js';
import { parseSource } from './document.js';
import { formatProblem, InvalidManifest } from './problem.js';
import { nearestField, objectSchema } from './schema.js';

function decode(text: string) {
  return decodePods(parseSource(text, 'pod.yaml')[0]!);
}

function problemsOf(text: string): string[] {
  try {
    decode(text);
  } catch (error) {
    if (error instanceof InvalidManifest) return error.problems.map(formatProblem);
    throw error;
  }
  return [];
}

const head = 'apiVersion: v1\nkind: Pod\n';

describe('a valid manifest', () => {
  it('becomes a pod with canonical quantities and zero values for required fields', () => {
    const { pods, warnings } = decode(`${head}metadata:
  name: web
  creationTimestamp: null
spec:
  containers:
  - image: nginx
    ports:
    - containerPort: 80
    resources:
      limits: {cpu: 0.5, memory: 1024Mi}
  - name: side
    env: [{name: A}]
`);
    expect(warnings).toEqual([]);
    expect(pods).toEqual([
      {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'web' },
        spec: {
          containers: [
            {
              name: '',
              image: 'nginx',
              ports: [{ containerPort: 80 }],
              resources: { limits: { cpu: '500m', memory: '1Gi' } },
            },
            { name: 'side', env: [{ name: 'A' }] },
          ],
        },
      },
    ]);
  });
  it('may omit everything but version and kind', () => {
    expect(decode(head).pods).toEqual([
      { apiVersion: 'v1', kind: 'Pod', metadata: {}, spec: { containers: [] } },
    ]);
  });
  it('may be JSON', () => {
    expect(decode('{"apiVersion":"v1","kind":"Pod","spec":{"priority":3}}').pods[0]?.spec.priority).toBe(3);
  });
  it('keeps the status unchanged', () => {
    expect(decode(`${head}status: {phase: Running, podIPs: [{ip: 1.2.3.4}]}`).pods[0]?.status).toEqual({
      phase: 'Running',
      podIPs: [{ ip: '1.2.3.4' }],
    });
  });
  it('reads null entries as zero values', () => {
    const { pods } = decode(
      `${head}metadata: {labels: {a: null}}\nspec:\n  containers:\n  - name: a\n    args: [null]\n`,
    );
    expect(pods[0]?.metadata.labels).toEqual({ a: '' });
    expect(pods[0]?.spec.containers[0]?.args).toEqual(['']);
  });
  it('accepts names and numbers as ports', () => {
    const probe = (port: string) =>
      decode(`${head}spec: {containers: [{name: a, livenessProbe: {httpGet: {port: ${port}}}}]}`).pods[0]
        ?.spec.containers[0]?.livenessProbe?.httpGet?.port;
    expect(probe('80')).toBe(80);
    expect(probe('http')).toBe('http');
  });
});

describe('lists', () => {
  it('PodList items need no kind', () => {
    const { pods } = decode(
      'apiVersion: v1\nkind: PodList\nitems:\n- metadata: {name: a}\n- metadata: {name: b}\n',
    );
    expect(pods.map((pod) => [pod.kind, pod.metadata.name])).toEqual([
      ['Pod', 'a'],
      ['Pod', 'b'],
    ]);
  });
  it('List items do', () => {
    expect(
      problemsOf(
        'apiVersion: v1\nkind: List\nitems:\n- metadata: {name: a}\n- {apiVersion: v1, kind: Service}\n',
      ),
    ).toEqual([
      'pod.yaml:4:3: items[0].apiVersion: is missing; add "apiVersion: v1"',
      'pod.yaml:4:3: items[0].kind: is missing; add "kind: Pod"',
      'pod.yaml:5:20: items[1].kind: is "Service"; only pods can be run here, write "kind: Pod"',
    ]);
  });
  it('may be empty', () => expect(decode('apiVersion: v1\nkind: PodList\n').pods).toEqual([]));
  it('needs a list of items', () => {
    expect(problemsOf('apiVersion: v1\nkind: PodList\nitems: {}\n')).toEqual([
      'pod.yaml:3:1: items: expected a list of pods, found a mapping',
    ]);
  });
});

describe('problems', () => {
  const spec = (line: string) => `${head}spec:\n  ${line}\n`;
  const container = (line: string) => `${head}spec:\n  containers:\n  - name: a\n    ${line}\n`;
  const rows: [rule: string, text: string, expected: string][] = [
    [
      'not a mapping',
      '- a\n',
      'pod.yaml:1:1: expected a Pod, found a list; begin with "apiVersion: v1" and "kind: Pod"',
    ],
    ['version missing', 'kind: Pod\n', 'pod.yaml:1:1: apiVersion: is missing; add "apiVersion: v1"'],
    [
      'wrong version',
      'apiVersion: v2\nkind: Pod\n',
      'pod.yaml:1:1: apiVersion: is "v2"; write "apiVersion: v1"',
    ],
    ['kind missing', 'apiVersion: v1\n', 'pod.yaml:1:1: kind: is missing; add "kind: Pod"'],
    [
      'number for a string',
      container('image: 8080'),
      'pod.yaml:6:5: spec.containers[0].image: expected a string, found a number; put it in quotes',
    ],
    [
      'boolean for a string',
      container('env: [{name: A, value: yes}]'),
      'pod.yaml:6:21: spec.containers[0].env[0].value: expected a string, found a boolean; put it in quotes',
    ],
    [
      'list for a string',
      container('image: [a]'),
      'pod.yaml:6:5: spec.containers[0].image: expected a string, found a list; write a single value here',
    ],
    [
      'quoted number',
      spec('priority: "3"'),
      'pod.yaml:4:3: spec.priority: expected a whole number, found a string; remove the quotes',
    ],
    [
      'fraction',
      spec('priority: 1.5'),
      'pod.yaml:4:3: spec.priority: expected a whole number, found a number; write digits only',
    ],
    [
      'too large for 32 bits',
      spec('priority: 3000000000'),
      'pod.yaml:4:3: spec.priority: the number 3000000000 is out of range; write one from -2147483648 to 2147483647',
    ],
    [
      'quoted boolean',
      spec('hostNetwork: "true"'),
      'pod.yaml:4:3: spec.hostNetwork: expected true or false, found a string; remove the quotes',
    ],
    [
      'mapping for a list',
      spec('containers: {name: a}'),
      'pod.yaml:4:3: spec.containers: expected a list, found a mapping; begin each entry with "- "',
    ],
    [
      'list for a mapping',
      `${head}metadata: [a]\n`,
      'pod.yaml:3:1: metadata: expected a mapping (ObjectMeta), found a list; remove the "- " before it',
    ],
    [
      'string for a mapping',
      spec('nodeSelector: disk'),
      'pod.yaml:4:3: spec.nodeSelector: expected a mapping of names to values, found a string; write its fields on the following lines, indented',
    ],
    [
      'number as label',
      `${head}metadata:\n  labels:\n    v: 1\n`,
      'pod.yaml:5:5: metadata.labels[v]: expected a string, found a number; put it in quotes',
    ],
    [
      'bad quantity',
      container('resources: {limits: {cpu: lots}}'),
      'pod.yaml:6:26: spec.containers[0].resources.limits[cpu]: "lots" is not a quantity; write a number with an optional suffix, for example 250m, 1.5 or 512Mi',
    ],
    [
      'quantity of a wrong type',
      container('resources: {limits: {cpu: true}}'),
      'pod.yaml:6:26: spec.containers[0].resources.limits[cpu]: expected a quantity, found a boolean; write for example 250m or 512Mi',
    ],
    [
      'bad time',
      `${head}metadata: {creationTimestamp: today}\n`,
      'pod.yaml:3:12: metadata.creationTimestamp: expected a time, found a string; write it as 2006-01-02T15:04:05Z',
    ],
  ];
  it.each(rows)('%s', (_rule, text, expected) => expect(problemsOf(text)).toEqual([expected]));
  it('are all reported together', () => {
    expect(
      problemsOf(`${head}metadata: {name: 1}\nspec:\n  hostPID: 1\n  containers:\n  - name: 2\n`),
    ).toHaveLength(3);
  });
});

describe('warnings', () => {
  const rows: [rule: string, text: string, expected: string][] = [
    [
      'wrong letter case',
      'spec:\n  hostnetwork: true\n',
      'pod.yaml:4:3: spec.hostnetwork: unknown field, ignored: did you mean "hostNetwork"?',
    ],
    [
      'misspelt',
      'spec:\n  restartPolcy: Never\n',
      'pod.yaml:4:3: spec.restartPolcy: unknown field, ignored: did you mean "restartPolicy"?',
    ],
    [
      'unlike any field',
      'zebra: 1\n',
      'pod.yaml:3:1: zebra: unknown field, ignored: remove it; Pod has no such field',
    ],
    [
      'key given twice',
      'spec:\n  hostPID: true\n  hostPID: false\n',
      'pod.yaml:5:3: hostPID: "hostPID" is given more than once here and the last one counts; remove the others',
    ],
  ];
  it.each(rows)('%s', (_rule, text, expected) => {
    expect(decode(head + text).warnings.map(formatProblem)).toEqual([expected]);
  });
});

describe('schema', () => {
  it.each([
    ['Container', 'imagepullpolicy', 'imagePullPolicy'],
    ['Container', 'volumeMount', 'volumeMounts'],
    ['Container', 'comand', 'command'],
    ['Container', 'x', undefined],
    ['PodSpec', 'container', 'containers'],
  ] as const)('%s.%s suggests %s', (type, written, meant) => {
    expect(nearestField(objectSchema(type), written)).toBe(meant);
  });
});
