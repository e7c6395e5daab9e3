/** `describe node` against a run, as a user types it. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { NodeDescription } from '../../src/kubelet/index.js';
import { type LocalNode, pod, runCli, shellPod, startLocalNode } from './local-node.js';

let node: LocalNode;
const describeNode = (...args: string[]) => runCli(['describe', ...args, '--socket', node.socketPath]);

beforeAll(async () => {
  node = await startLocalNode();
  const resources = { requests: { cpu: '10m', memory: '8Mi' }, limits: { memory: '16Mi' } };
  const command = ['sh', '-c', 'exec sleep 1000'];
  node.set(
    pod('web', [{ name: 'app', image: 'host', command, resources }]),
    shellPod('plain', 'exec sleep 1000'),
    pod('large', [{ name: 'app', image: 'host', command, resources: { requests: { cpu: '100k' } } }]),
  );
  await node.ready('web');
  await node.ready('plain');
});
afterAll(() => node.close());

it('shows what the node has, who was given what, and what is free', async () => {
  const { code, stdout, stderr } = await describeNode('node');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^Node: +here\n/);
  expect(stdout).toMatch(/^Ready +True +\S+ +KubeletReady /m);
  expect(stdout).toMatch(/^cpu +\d+ +0 +0 +0 +\d+ +10m \(\d+%\) +0 +\d+m$/m);
  expect(stdout).toMatch(/^pods +110 +0 +0 +0 +110 +2 \(2%\) +0 +108$/m);
  expect(stdout).toMatch(/^default\/web +Burstable +0 +10m \/ - +8Mi \/ 16Mi +- \/ - +-$/m);
  expect(stdout).toMatch(/^default\/plain +BestEffort /m);
  // It was refused, so it holds nothing.
  expect(stdout).not.toContain('default/large');
  expect(stdout).toContain('This node evicts no pods: pods are not evicted in a run.');
});

it('prints the same as JSON and YAML', async () => {
  const json: NodeDescription = JSON.parse((await describeNode('node', '-o', 'json')).stdout);
  const yaml: NodeDescription = parse((await describeNode('node', '-o', 'yaml')).stdout);
  for (const { name, pods, resources } of [json, yaml]) {
    expect(name).toBe('here');
    expect(pods.items.map((each) => each.name)).toEqual(['plain', 'web']);
    expect(resources.find((each) => each.name === 'memory')?.requested).toBe('8Mi');
  }
});

it.each([
  [[], 'name what to describe: nodelet describe node'],
  [['pod', 'web'], 'only the node can be described, not pod; "nodelet explain POD" tells of a pod'],
  [['node', 'here'], 'there is one node, so name none: here'],
  [['node', '-o', 'wide'], 'the formats are json and yaml'],
])('%j is a wrong command line', async (args, message) => {
  const { code, stderr } = await describeNode(...args);
  expect(code).toBe(2);
  expect(stderr).toContain(message);
});
