import { describe, expect, it } from 'vitest';
import { namesOf, templateProblem } from './node-names.js';
import { readProfiles } from './read-profiles.js';

describe('a file of profiles', () => {
  it('has groups of nodes with what is not the default', () => {
    const text = `
nodes:
- count: 3
  name: small-{index}
  cpu: 4
  memory: 16Gi
  labels: { zone: a }
- ephemeralStorage: 1Ti
  pods: 250
  architecture: arm64
  taints: [{ key: gpu, value: "yes", effect: NoSchedule }]
`;
    expect(readProfiles(text, 'f.yaml')).toEqual([
      {
        count: 3,
        nameTemplate: 'small-{index}',
        profile: { cpus: 4, memoryBytes: 16 * 1024 ** 3, labels: { zone: 'a' } },
      },
      {
        count: 1,
        nameTemplate: undefined,
        profile: {
          ephemeralStorageBytes: 1024 ** 4,
          pods: 250,
          architecture: 'arm64',
          taints: [{ key: 'gpu', value: 'yes', effect: 'NoSchedule' }],
        },
      },
    ]);
  });

  it.each([
    ['no list', 'nodes: 3\n', 'f.yaml:1: nodes: 3 is not a list of groups of nodes'],
    ['nothing', '# nothing\n', 'f.yaml: has no nodes; write "nodes:" and a list'],
    [
      'a field that is none',
      'nodes:\n- count: 1\n  cpus: 4\n',
      'f.yaml:3: nodes[0].cpus: unknown field; did you mean cpu?',
    ],
    [
      'half a CPU',
      'nodes:\n- cpu: 500m\n',
      'f.yaml:2: nodes[0].cpu: "500m" is not a whole number of CPUs such as 32',
    ],
    [
      'no amount',
      'nodes:\n- memory: much\n',
      'f.yaml:2: nodes[0].memory: "much" is not an amount of memory such as 64Gi',
    ],
    ['more than can be', 'nodes:\n- pods: 1000000\n', 'f.yaml:2: nodes[0].pods: 1000000 is more than 100000'],
    ['a count of none', 'nodes:\n- count: 0\n', 'f.yaml:2: nodes[0].count: 0 is not a whole number of nodes'],
    [
      'too many nodes',
      'nodes:\n- count: 15000\n- count: 15000\n',
      'f.yaml:1: nodes: has 30000 nodes; one process has at most 20000',
    ],
    [
      'a name without a number',
      'nodes:\n- name: web\n',
      'f.yaml:2: nodes[0].name: "web" must have {index} once',
    ],
    ['a name that is none', 'nodes:\n- name: "A {index}"\n', 'makes no names of nodes'],
    [
      'a label that is no text',
      'nodes:\n- labels:\n    a: 1\n',
      'f.yaml:3: nodes[0].labels[a]: 1 is not a text; put it in quotes',
    ],
    [
      'an effect that is none',
      'nodes:\n- taints:\n  - key: a\n    effect: Never\n',
      'f.yaml:4: nodes[0].taints[0].effect: "Never" is no effect',
    ],
    ['a field twice', 'nodes:\n- cpu: 1\n  cpu: 2\n', 'f.yaml:3: cpu is there twice'],
  ])('%s is refused', (_, text, message) => {
    expect(() => readProfiles(text, 'f.yaml')).toThrow(message);
  });

  it('every problem is told', () => {
    const text = 'nodes:\n- cpu: none\n  pods: none\n';
    expect(() => readProfiles(text, 'f.yaml')).toThrow(/f\.yaml:2: .*\n.*f\.yaml:3: /);
  });
});

describe('the names of nodes', () => {
  it('pass over those that are taken', () => {
    expect(namesOf('a-{index}', 3, (name) => name === 'a-1')).toEqual(['a-0', 'a-2', 'a-3']);
  });
  it.each([
    ['rack1-{index}', undefined],
    ['{index}.rack', undefined],
    ['rack', 'must have {index} once'],
    ['{index}-{index}', 'must have {index} once'],
    ['_{index}', 'makes no names of nodes'],
  ])('%s', (template, problem) => {
    if (problem === undefined) expect(templateProblem(template)).toBeUndefined();
    else expect(templateProblem(template)).toContain(problem);
  });
});
