/** A machine of its own: one process, and the real kubectl at its API. */
import { readdirSync, readFileSync } from 'node:fs';
import { request } from 'node:https';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { controlPlaneProgram } from '../env/control-plane-binaries.js';
import { pollUntil } from '../env/index.js';
import { BareNode } from './bare-node.js';

const node = new BareNode({ runtime: ['--runtime', 'process'] });
beforeAll(async () => {
  await controlPlaneProgram('kubectl');
  await node.start();
});
afterAll(() => node.remove());

const script = 'echo hello; trap "exit 0" TERM; while true; do sleep 0.2; done';
const template = (name: string, command = script) => ({
  metadata: { labels: { app: name } },
  spec: {
    terminationGracePeriodSeconds: 2,
    containers: [{ name: 'app', image: 'busybox', command: ['sh', '-c', command] }],
  },
});
const pod = (name: string, command?: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  ...template(name, command),
  metadata: { name, labels: { app: name } },
});
const deployment = (name: string, replicas: number) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name },
  spec: { replicas, selector: { matchLabels: { app: name } }, template: template(name) },
});
const podsOf = async (
  app: string,
): Promise<{ metadata: { name: string; uid: string }; status: { phase: string } }[]> =>
  JSON.parse(await node.kubectl('get', 'pods', '-l', `app=${app}`, '-o', 'json')).items;

describe('kubectl at a bare machine', () => {
  it('applies a pod, waits for it, lists and describes it, reads its log and runs a command in it', async () => {
    expect(await node.apply(pod('web'))).toContain('pod/web created');
    await node.kubectl('wait', '--for=condition=Ready', 'pod/web', '--timeout=60s');
    expect(await node.kubectl('get', 'pods')).toMatch(
      /NAME +READY +STATUS +RESTARTS +AGE\nweb +1\/1 +Running +0 /,
    );
    await pollUntil(
      'the events are told',
      async () =>
        (await node.kubectl('describe', 'pod', 'web')).includes('Container started') ? true : undefined,
      { timeoutMs: 20_000 },
    );
    expect(await node.kubectl('logs', 'web')).toContain('hello');
    expect(await node.kubectl('exec', 'web', '--', 'sh', '-c', 'echo from inside')).toContain('from inside');
    expect(await node.kubectl('events', '--for', 'pod/web')).toContain('Started');
  });

  it('applies the same again and changes nothing, then changes a label', async () => {
    expect(await node.apply(pod('web'))).toContain('pod/web unchanged');
    expect(await node.kubectl('label', 'pod', 'web', 'tier=front')).toContain('labeled');
    expect(await node.kubectl('get', 'pods', '-l', 'tier=front', '-o', 'name')).toBe('pod/web\n');
  });

  it('refuses a change that a pod cannot take, in the words of the API', async () => {
    const changed = { ...pod('web'), spec: { ...pod('web').spec, hostNetwork: true } };
    await expect(node.apply(changed)).rejects.toThrow('pod updates may not change fields other than');
  });

  it('deletes a pod with its grace period, and it is gone from the machine', async () => {
    await node.kubectl('delete', 'pod', 'web', '--timeout=60s');
    expect((await node.tryKubectl('get', 'pod', 'web')).stderr).toContain('pods "web" not found');
  });

  it('rolls out a deployment, scales it, and collects its pods', async () => {
    await node.apply(deployment('shop', 2));
    await node.kubectl('rollout', 'status', 'deployment/shop', '--timeout=60s');
    expect(await podsOf('shop')).toHaveLength(2);
    await node.kubectl('scale', 'deployment', 'shop', '--replicas=1');
    await pollUntil('one pod is left', async () => ((await podsOf('shop')).length === 1 ? true : undefined), {
      timeoutMs: 60_000,
    });
    await node.kubectl('delete', 'deployment', 'shop', '--timeout=60s');
    await pollUntil('no pod is left', async () => ((await podsOf('shop')).length === 0 ? true : undefined), {
      timeoutMs: 60_000,
    });
  });

  it('a namespace goes with all that is in it', async () => {
    await node.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'mine' } });
    await node.apply({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'c', namespace: 'mine' },
      data: { a: 'b' },
    });
    await node.kubectl('delete', 'namespace', 'mine', '--timeout=60s');
    expect((await node.tryKubectl('get', 'namespace', 'mine')).stderr).toContain('not found');
  });

  it.each([
    [
      'an object without a name',
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'default' } },
      'name',
    ],
    [
      'a kind that is not there',
      { apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', metadata: { name: 'x' } },
      'no matches for kind "Ingress"',
    ],
    [
      'a namespace that is not there',
      { ...pod('lost'), metadata: { name: 'lost', namespace: 'nowhere' } },
      'namespaces "nowhere" not found',
    ],
  ])('%s is refused', async (_what, object, message) => {
    await expect(node.apply(object)).rejects.toThrow(message);
  });
});

describe('commands of kubectl that send protobuf', () => {
  it.each([
    ['create namespace typed', 'namespace/typed created'],
    ['create configmap typed --from-literal=a=b', 'configmap/typed created'],
    ['create secret generic typed --from-literal=a=b', 'secret/typed created'],
    ['create serviceaccount typed', 'serviceaccount/typed created'],
    ['create service clusterip typed --tcp=80:8080', 'service/typed created'],
    ['create priorityclass typed --value=1000', 'priorityclass.scheduling.k8s.io/typed created'],
    ['create job typed --image=busybox -- true', 'job.batch/typed created'],
    ['create cronjob typed --image=busybox --schedule=0,0,1,1,* -- true', 'cronjob.batch/typed created'],
    ['auth can-i create pods', 'yes'],
    ['auth can-i --list', '*.*'],
    ['auth whoami', 'system:masters'],
    ['create token default --duration=1h', 'eyJ'],
  ])('%s', async (command, output) => {
    const words = command.split(' ').map((word) => word.replaceAll(',', ' '));
    expect(await node.kubectl(...words)).toContain(output);
  });

  it('store what was given', async () => {
    expect(await node.kubectl('get', 'configmap', 'typed', '-o', 'jsonpath={.data.a}')).toBe('b');
    expect(await node.kubectl('get', 'secret', 'typed', '-o', 'jsonpath={.data.a}')).toBe('Yg==');
    const port = '-o=jsonpath={.spec.ports[0].port}:{.spec.ports[0].targetPort}';
    expect(await node.kubectl('get', 'service', 'typed', port)).toBe('80:8080');
    await node.kubectl('wait', '--for=condition=Complete', 'job/typed', '--timeout=60s');
    await node.kubectl('delete', 'namespace', 'typed', '--timeout=60s');
  });

  it('roll out a deployment', async () => {
    const given = ['--image=busybox', '--replicas=2', '--', 'sh', '-c', script];
    await node.kubectl('create', 'deployment', 'typed', ...given);
    await node.kubectl('rollout', 'status', 'deployment/typed', '--timeout=60s');
    expect(await podsOf('typed')).toHaveLength(2);
    await node.kubectl('delete', 'deployment', 'typed', '--timeout=60s');
  });
});

describe('nobody else gets in', () => {
  const ask = (headers: Record<string, string>): Promise<number> =>
    new Promise((resolve, reject) => {
      const server = /https:\/\/\S+/.exec(readFileSync(node.kubeconfig, 'utf8'))?.[0] ?? '';
      request(`${server}/api/v1/secrets`, { rejectUnauthorized: false, headers }, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      })
        .on('error', reject)
        .end();
    });

  it('without a certificate or a token', async () => {
    expect(await ask({})).toBe(401);
  });

  it('with a token that nobody gave', async () => {
    expect(await ask({ Authorization: 'Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.' })).toBe(401);
  });
});

describe('kill -9', () => {
  it('loses no object and no pod, and starts nothing twice', async () => {
    await node.apply(deployment('kept', 2), {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'kept' },
      data: { text: 'one\ntwo\n' },
    });
    await node.kubectl('rollout', 'status', 'deployment/kept', '--timeout=60s');
    const before = (await podsOf('kept')).map(({ metadata }) => metadata.uid).sort();
    const running = processesOf('kept-');
    await node.end('SIGKILL');
    await node.start();
    expect((await podsOf('kept')).map(({ metadata }) => metadata.uid).sort()).toEqual(before);
    await node.kubectl('rollout', 'status', 'deployment/kept', '--timeout=60s');
    expect(processesOf('kept-')).toEqual(running);
    expect(await node.kubectl('get', 'configmap', 'kept', '-o', 'jsonpath={.data.text}')).toBe('one\ntwo\n');
    const files = readdirSync(path.join(node.stateDir, 'objects/core/configmaps/default'));
    expect(files).toContain('kept.yaml');
  });

  /** The restart counts of the pods, which a second start would raise. */
  function processesOf(prefix: string): string[] {
    const dir = path.join(node.stateDir, 'objects/core/pods/default');
    return readdirSync(dir).filter((name) => name.startsWith(prefix));
  }
});

describe('the end', () => {
  it('leaves the pods, and the next start has them again', async () => {
    await node.apply(pod('stays'));
    await node.kubectl('wait', '--for=condition=Ready', 'pod/stays', '--timeout=60s');
    const idOf = () =>
      node.kubectl('get', 'pod', 'stays', '-o', 'jsonpath={.status.containerStatuses[0].containerID}');
    const before = await idOf();
    expect(await node.end('SIGTERM')).toBe(0);
    await node.start();
    expect(await idOf()).toBe(before);
  });
});
