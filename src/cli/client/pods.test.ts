import { describe, expect, it } from 'vitest';
import type { Pod } from '../../kube/index.js';
import { chooseContainer, choosePod, podPath } from './pods.js';

const pod = (name: string, namespace = 'default', more: Partial<Pod['spec']> = {}): Pod => ({
  metadata: { name, namespace, uid: `${namespace}-${name}` },
  spec: { containers: [{ name: 'app' }], nodeName: 'n1', ...more },
});
const pods = [
  pod('web'),
  pod('db', 'data'),
  pod('db', 'test'),
  pod('static-n1', 'kube-system'),
  pod('a'),
  pod('a-n1'),
];

describe('choosePod', () => {
  it.each([
    ['by its name', 'web', undefined, 'default-web'],
    ['by its kind and name', 'pod/web', undefined, 'default-web'],
    ['by namespace and name', 'data/db', undefined, 'data-db'],
    ['by name in a namespace', 'db', 'test', 'test-db'],
    ["without the node's name", 'static', undefined, 'kube-system-static-n1'],
    ['by its exact name first', 'a', undefined, 'default-a'],
  ])('finds a pod %s', (_, name, namespace, uid) => {
    expect(choosePod(pods, { name, namespace }).metadata.uid).toBe(uid);
  });

  it.each([
    ['in several namespaces', 'db', undefined, 'choose one with -n: data, test'],
    [
      'that is mistyped',
      'wbe',
      undefined,
      'pods "wbe" not found; did you mean "web"?\nThere are: a, a-n1, data/db',
    ],
    ['in the wrong namespace', 'web', 'data', 'pods "web" not found in namespace "data"'],
  ])('refuses a pod %s', (_, name, namespace, message) => {
    expect(() => choosePod(pods, { name, namespace })).toThrow(message);
  });

  it('says that there are no pods', () => {
    expect(() => choosePod([], { name: 'web', namespace: undefined })).toThrow('there are no pods');
  });
});

describe('chooseContainer', () => {
  const several = pod('web', 'default', {
    containers: [{ name: 'a' }, { name: 'b' }],
    initContainers: [{ name: 'i' }],
  });
  it('takes the only container without a note', () => {
    expect(chooseContainer(pod('web'), undefined)).toEqual({ name: 'app' });
  });
  it('takes the first container and says so', () => {
    expect(chooseContainer(several, undefined)).toEqual({
      name: 'a',
      note: 'Defaulted container "a" out of: a, b, i (init)',
    });
  });
  it('takes the default container of the annotation', () => {
    const marked = {
      ...several,
      metadata: { ...several.metadata, annotations: { 'kubectl.kubernetes.io/default-container': 'b' } },
    };
    expect(chooseContainer(marked, undefined)).toEqual({ name: 'b' });
  });
  it('takes an init container by name', () => {
    expect(chooseContainer(several, 'i')).toEqual({ name: 'i' });
  });
});

it('escapes every segment of a path', () => {
  expect(podPath('exec', pod('a/b', 'x y'), 'c?')).toBe('/exec/x%20y/a%2Fb/c%3F');
});
