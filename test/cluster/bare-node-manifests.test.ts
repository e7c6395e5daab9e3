/** `nodelet up` with manifests: what is in files is in its API, and what is not ours stays. */
import { mkdtempSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { controlPlaneProgram } from '../env/control-plane-binaries.js';
import { pollUntil } from '../env/index.js';
import { BareNode } from './bare-node.js';

const dir = mkdtempSync('/tmp/nodelet-manifests-');
const node = new BareNode({
  runtime: ['--runtime', 'process'],
  serviceCidr: '10.116.0.0/24',
  manifests: [dir],
});
beforeAll(async () => {
  await controlPlaneProgram('kubectl');
});
afterAll(async () => {
  await node.remove();
  await rm(dir, { recursive: true, force: true });
});

const put = (name: string, text: string): Promise<void> => writeFile(path.join(dir, name), text);
const deployment = (replicas: number): string => `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: ${replicas}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 2
      containers: [{name: app, image: x, command: [sh, -c, "trap 'exit 0' TERM; while :; do sleep 0.1; done"]}]
`;
const settings = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: conf}\ndata: {a: "1"}\n';
const names = async (kind: string): Promise<string[]> =>
  (await node.kubectl('get', kind, '-o', 'jsonpath={.items[*].metadata.name}')).split(' ').filter(Boolean);
const until = (what: string, isSo: () => Promise<boolean>): Promise<unknown> =>
  pollUntil(what, async () => ((await isSo()) ? true : undefined), {
    timeoutMs: 60_000,
    detail: () => node.log.slice(-2000),
  });

it('has what the files have, tells of errors, prunes only its own, also after a kill -9', async () => {
  await put('web.yaml', deployment(1));
  await put('conf.yaml', settings);
  await node.start();
  await until(
    'the objects are there',
    async () => (await names('deployments')).includes('web') && (await names('configmaps')).includes('conf'),
  );
  await node.kubectl('create', 'configmap', 'theirs', '--from-literal=a=1');

  await put('web.yaml', deployment(1).replace('replicas', 'replica'));
  await until('the error is told', async () =>
    node.log.includes(`error: ${dir}/web.yaml:5:3: spec.replica: Deployment has no such field`),
  );
  await put('web.yaml', deployment(2));
  await until(
    'two pods run',
    async () =>
      (await node.kubectl('get', 'deployment', 'web', '-o', 'jsonpath={.status.readyReplicas}')) === '2',
  );

  await node.end('SIGKILL');
  await rm(path.join(dir, 'conf.yaml'));
  await node.start();
  await until(
    'what was removed meanwhile is gone',
    async () => !(await names('configmaps')).includes('conf'),
  );
  expect(await names('configmaps')).toContain('theirs');
  await rm(path.join(dir, 'web.yaml'));
  await until('its pods are gone', async () => (await names('pods')).length === 0);
  expect(await names('deployments')).toEqual([]);
  expect(await names('configmaps')).toContain('theirs');
});
