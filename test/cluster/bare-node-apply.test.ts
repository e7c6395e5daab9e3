/** Types, fields and their owners at a machine of its own, as the real kubectl asks for and changes them. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { controlPlaneProgram } from '../env/control-plane-binaries.js';
import { BareNode } from './bare-node.js';

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
