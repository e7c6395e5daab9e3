/** Objects of a machine of its own, their fields and their owners, as the real kubectl asks for and changes them. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { controlPlaneProgram } from '../env/control-plane-binaries.js';
import { BareNode } from './bare-node.js';
import { runKubectl, startKubectl } from './kubectl.js';

const node = new BareNode({ runtime: ['--runtime', 'process'], serviceCidr: '10.114.0.0/24' });
beforeAll(async () => {
  await controlPlaneProgram('kubectl');
  await node.start();
});
afterAll(() => node.remove());

const configMap = (name: string, data: Record<string, string>, more: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data,
  ...more,
});

describe('kubectl explain', () => {
  it.each([
    ['pod.spec.containers', /FIELD: containers <\[\]Container>[\s\S]*image\t<string>/],
    ['deployment.spec.strategy', /KIND: +Deployment[\s\S]*rollingUpdate\t<RollingUpdateDeployment>/],
    ['cronjob.spec', /schedule\t<string> -required-/],
  ])('%s', async (type, text) => expect(await node.kubectl('explain', type)).toMatch(text));
});

describe('unknown fields', () => {
  it('are refused by default', async () => {
    await expect(node.apply(configMap('odd', {}, { dat: 1 }))).rejects.toThrow(
      'strict decoding error: unknown field "dat"',
    );
  });
});

/** The managers of a ConfigMap, each with its operation. */
async function managers(name: string): Promise<string[]> {
  const text = await node.kubectl('get', 'configmap', name, '-o', 'json', '--show-managed-fields');
  const { metadata } = JSON.parse(text);
  return metadata.managedFields.map(
    ({ manager, operation }: { manager: string; operation: string }) => `${manager}/${operation}`,
  );
}

const applied = (object: object): Promise<string> => node.applyWith(['--server-side'], object);

describe('kubectl apply --server-side', () => {
  it('creates, changes and takes out what is no longer applied', async () => {
    await applied(configMap('mine', { a: '1', b: '2' }));
    expect(await managers('mine')).toEqual(['kubectl/Apply']);
    await applied(configMap('mine', { a: '3' }));
    expect(JSON.parse(await node.kubectl('get', 'configmap', 'mine', '-o', 'json')).data).toEqual({ a: '3' });
  });

  it('refuses to take fields of another manager until it is forced', async () => {
    const another = ['--server-side', '--field-manager=other'];
    await applied(configMap('ours', { a: '1' }));
    await expect(node.applyWith(another, configMap('ours', { a: '2' }))).rejects.toThrow(
      'conflict with "kubectl": .data.a',
    );
    await node.applyWith([...another, '--force-conflicts'], configMap('ours', { a: '2' }));
    expect(await managers('ours')).toEqual(['other/Apply']);
  });

  it('takes over what a client-side apply has written', async () => {
    await node.apply(configMap('moved', { a: '1', b: '1' }));
    expect(await managers('moved')).toEqual(['kubectl-client-side-apply/Update']);
    await applied(configMap('moved', { a: '1', b: '1' }));
    await applied(configMap('moved', { a: '2' }));
    expect(JSON.parse(await node.kubectl('get', 'configmap', 'moved', '-o', 'json')).data).toEqual({
      a: '2',
    });
  });
});

const busy = 'trap "exit 0" TERM; while true; do sleep 0.2; done';
const template = (app: string) => ({
  metadata: { labels: { app } },
  spec: {
    terminationGracePeriodSeconds: 1,
    containers: [
      {
        name: 'app',
        image: 'busybox:1',
        command: ['sh', '-c', busy],
        resources: { requests: { memory: '10Mi' }, limits: { memory: '100Mi' } },
      },
    ],
  },
});
const workload = (kind: string, name: string, more: object = {}) => ({
  apiVersion: 'apps/v1',
  kind,
  metadata: { name },
  spec: { selector: { matchLabels: { app: name } }, template: template(name), ...more },
});
const pod = (name: string) => ({ apiVersion: 'v1', kind: 'Pod', ...template(name), metadata: { name } });
const field = async (what: string, path: string): Promise<string> =>
  node.kubectl('get', ...what.split(' '), '-o', `jsonpath={${path}}`);
const refusal = async (command: string): Promise<string> => {
  const { exitCode, stderr } = await node.tryKubectl(...command.split(' '));
  expect(exitCode).not.toBe(0);
  return stderr;
};

describe('a deployment', () => {
  const rolledOut = (): Promise<string> =>
    node.kubectl('rollout', 'status', 'deployment/shop', '--timeout=60s');
  const image = (): Promise<string> => field('deployment shop', '.spec.template.spec.containers[0].image');

  it('is rolled out, back, on and anew', async () => {
    await node.apply(workload('Deployment', 'shop'));
    expect(await rolledOut()).toContain('successfully rolled out');
    await node.kubectl('set', 'image', 'deployment/shop', 'app=busybox:2');
    await rolledOut();
    expect(await node.kubectl('rollout', 'history', 'deployment/shop')).toMatch(/1 +<none>\n2 +<none>/);
    expect(await node.kubectl('rollout', 'history', 'deployment/shop', '--revision=2')).toContain(
      'busybox:2',
    );
    await node.kubectl('rollout', 'undo', 'deployment/shop');
    expect(await image()).toBe('busybox:1');
    await node.kubectl('rollout', 'pause', 'deployment/shop');
    await node.kubectl('set', 'env', 'deployment/shop', 'COLOR=red');
    expect(await field('deployment shop', '.spec.paused')).toBe('true');
    expect(await refusal('rollout restart deployment/shop')).toContain("can't restart paused deployment");
    await node.kubectl('rollout', 'resume', 'deployment/shop');
    await node.kubectl('rollout', 'restart', 'deployment/shop');
    expect(await rolledOut()).toContain('successfully rolled out');
    expect(await node.kubectl('rollout', 'history', 'deployment/shop')).toMatch(/[45] +<none>\n$/m);
  });

  it('is exposed, edited and shown', async () => {
    await node.kubectl('expose', 'deployment', 'shop', '--port=80', '--target-port=8080');
    const editor = path.join(node.stateDir, 'editor');
    writeFileSync(editor, '#!/bin/sh\nsed -i "s/port: 80$/port: 81/" "$1"\n', { mode: 0o755 });
    const edited = await startKubectl(node, ['edit', 'service', 'shop'], { env: { EDITOR: editor } });
    expect((await edited.end()).text).toContain('service/shop edited');
    expect(await node.kubectl('get', 'service', 'shop', '-o', 'wide')).toMatch(/81\/TCP +\S+ +app=shop/);
    expect(await node.kubectl('get', 'all')).toMatch(
      /pod\/shop-[\s\S]*service\/shop [\s\S]*deployment.apps\/shop [\s\S]*replicaset.apps\/shop-/,
    );
    const columns = 'custom-columns=NAME:.metadata.name,IMAGE:.spec.template.spec.containers[*].image';
    expect(await node.kubectl('get', 'deployments', '-o', columns)).toMatch(/NAME +IMAGE\nshop +busybox:1/);
    expect(await node.kubectl('get', 'deployment', 'shop', '-o', 'yaml')).toMatch(/^kind: Deployment$/m);
  });

  it('is not scaled by a load', async () => {
    const why = 'does not serve the API group "autoscaling": nothing here scales pods by what they use';
    const refused = (await refusal('autoscale deployment shop --max=3')).replaceAll('\\', '');
    expect(refused).toContain(why);
    expect(await refusal('autoscale deployment shop --max=3 --cpu=80%')).toContain(why);
  });

  it.each([
    ['orphan', 'stay', true],
    ['foreground', 'go first', false],
  ])('--cascade=%s: its pods %s', async (cascade, _what, remain) => {
    await node.apply(workload('ReplicaSet', cascade));
    await node.kubectl(
      'wait',
      '--for=jsonpath={.status.replicas}=1',
      `replicaset/${cascade}`,
      '--timeout=60s',
    );
    const names = await node.kubectl('get', 'pods', '-l', `app=${cascade}`, '-o', 'name');
    await node.kubectl('delete', 'replicaset', cascade, `--cascade=${cascade}`, '--timeout=60s');
    expect(await node.kubectl('get', 'pods', '-l', `app=${cascade}`, '-o', 'name')).toBe(remain ? names : '');
    expect(names).toContain(`pod/${cascade}-`);
  });
});

describe('what the API has', () => {
  it.each([
    [
      'api-resources',
      /deployments +deploy +apps\/v1 +true +Deployment[\s\S]*metrics.k8s.io\/v1beta1 +true +PodMetrics/,
    ],
    ['api-versions', /apps\/v1\n[\s\S]*metrics.k8s.io\/v1beta1\n[\s\S]*v1\n$/],
    ['cluster-info', /control plane.* is running at .*https:\/\/127\.0\.0\.1:\d+/],
    ['version', /Server Version: v1\.\d+\.\d+/],
    [
      'explain deployment --recursive',
      /\n {4}template\t<PodTemplateSpec> -required-\n[\s\S]*\n {8}containers\t/,
    ],
    ['explain pods --api-version=metrics.k8s.io/v1beta1', /containers\t<\[\]ContainerMetrics> -required-/],
    ['auth can-i --list --as=system:serviceaccount:default:default', /\[\/api\/\*\] +\[\] +\[get\]/],
    ['auth can-i delete nodes', /^yes\n$/],
  ])('%s', async (command, wanted) => expect(await node.kubectl(...command.split(' '))).toMatch(wanted));

  it('accounts may do nothing', async () => {
    const account = '--as=system:serviceaccount:default:default';
    const { exitCode, stdout } = await node.tryKubectl('auth', 'can-i', 'get', 'pods', account);
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: expect.stringMatching(/^no/) });
  });

  it.each([
    ['create ingress x --rule=a/b=c:80', 'this node does not serve the API group "networking.k8s.io"'],
    ['create pdb x --selector=a=b --min-available=1', 'the API group "policy": there is no other node'],
    ['create role x --verb=get --resource=pods', '"rbac.authorization.k8s.io": the owner of the node may do'],
    ['create quota x --hard=pods=1', 'this node serves no "resourcequotas" in v1'],
    ['get --raw /api/v1/nodes/x/proxy/metrics', 'this node serves no "proxy" of nodes'],
    ['get hpa', 'the server doesn\'t have a resource type "hpa"'],
  ])('%s is refused', async (command, why) => expect(await refusal(command)).toContain(why));
});

describe('changes of objects', () => {
  it('label, annotate, taint, patch of a subresource', async () => {
    await node.apply(pod('changed'));
    await node.kubectl('label', 'pod', 'changed', 'tier=front');
    await node.kubectl('annotate', 'pod', '-l', 'tier=front', 'note=yes');
    expect(await field('pod changed', '.metadata.annotations.note')).toBe('yes');
    await node.kubectl('taint', 'nodes', '--all', 'only=some:NoSchedule');
    expect(await field('nodes', '.items[0].spec.taints[0].key')).toBe('only');
    await node.kubectl('taint', 'nodes', '--all', 'only-');
    await node.kubectl('wait', '--for=condition=Ready', 'pod/changed', '--timeout=60s');
    const resources = { limits: { memory: '100Mi' }, requests: { memory: '20Mi' } };
    const resize = { spec: { containers: [{ name: 'app', resources }] } };
    await node.kubectl('patch', 'pod', 'changed', '--subresource=resize', '-p', JSON.stringify(resize));
    expect(await field('pod changed', '.spec.containers[0].resources.requests.memory')).toBe('20Mi');
  });

  it('diff, replace --force and delete --grace-period', async () => {
    const file = path.join(node.stateDir, 'replaced.json');
    const write = (object: object): void => writeFileSync(file, JSON.stringify(object));
    write(configMap('replaced', { a: '1' }));
    await node.kubectl('apply', '-f', file);
    const before = await field('configmap replaced', '.metadata.uid');
    write(configMap('replaced', { a: '2' }));
    const { exitCode, stdout } = await node.tryKubectl('diff', '-f', file);
    expect({ exitCode, stdout }).toEqual({
      exitCode: 1,
      stdout: expect.stringMatching(/- {2}a: "1"\n\+ {2}a: "2"/),
    });
    await node.kubectl('replace', '--force', '-f', file);
    expect(await field('configmap replaced', '.data.a')).toBe('2');
    expect(await field('configmap replaced', '.metadata.uid')).not.toBe(before);
    await node.kubectl('delete', 'pod', 'changed', '--grace-period=1', '--timeout=60s');
    expect(await refusal('get pod changed')).toContain('not found');
  });

  it.each([
    ['with a list of kinds', ['--prune', '-l', 'set=one', '--prune-allowlist=core/v1/ConfigMap'], {}],
    [
      'with an ApplySet',
      ['--prune', '--applyset=configmaps/parent', '-n', 'default'],
      { KUBECTL_APPLYSET: 'true' },
    ],
  ])('apply --prune %s', async (_how, flags, env) => {
    const labelled = (name: string) => ({
      ...configMap(name, {}),
      metadata: { name, ...('KUBECTL_APPLYSET' in env ? {} : { labels: { set: 'one' } }) },
    });
    const apply = async (...names: string[]): Promise<void> => {
      const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: names.map(labelled) });
      const end = await runKubectl(node, ['apply', ...flags, '-f', '-'], { input, env });
      expect(end, end.stderr).toMatchObject({ exitCode: 0 });
    };
    await apply('kept', 'pruned');
    await apply('kept');
    expect(await node.kubectl('get', 'configmaps', '-o', 'name')).toContain('configmap/kept\n');
    expect(await node.kubectl('get', 'configmaps', '-o', 'name')).not.toContain('configmap/pruned\n');
    await node.kubectl('delete', 'configmap', 'kept');
  });
});

describe('a node that gets no more pods', () => {
  it('is drained by evictions, and used again', async () => {
    await node.apply(pod('evicted'));
    await node.kubectl('wait', '--for=condition=Ready', 'pod/evicted', '--timeout=60s');
    const name = (await node.kubectl('get', 'nodes', '-o', 'name')).replace('node/', '').trim();
    await node.kubectl('cordon', name);
    expect(await node.kubectl('get', 'nodes')).toContain('Ready,SchedulingDisabled');
    const drained = await node.kubectl('drain', name, '--force', '--ignore-daemonsets', '--timeout=60s');
    expect(drained).toContain('pod/evicted evicted');
    expect(await refusal('get pod evicted')).toContain('not found');
    await node.kubectl('uncordon', name);
    expect(await node.kubectl('get', 'nodes')).not.toContain('SchedulingDisabled');
  });
});
