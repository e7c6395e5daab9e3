/** What kubectl does with the pods of a machine of its own: into them, out of them, beside them, and what they use. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../env/addresses.js';
import { controlPlaneProgram } from '../env/control-plane-binaries.js';
import { pollUntil } from '../env/index.js';
import { BareNode } from './bare-node.js';
import { runKubectl, startKubectl } from './kubectl.js';

const node = new BareNode({ runtime: ['--runtime', 'process'], serviceCidr: '10.115.0.0/24' });
const kubectl = node.kubectl.bind(node);
const image = 'busybox';
const busy = 'trap "exit 0" TERM; while true; do echo tick; sleep 0.2; done';
let port = 0;
const server = () =>
  `require('http').createServer((request, response) => response.end('served ' + request.url)).listen(${port}, '127.0.0.1')`;

const get = async (url: string): Promise<string> => (await fetch(url)).text();

beforeAll(async () => {
  await controlPlaneProgram('kubectl');
  port = await freePort();
  await node.start();
  const pod = (name: string, containers: object[]) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app: name } },
    spec: { terminationGracePeriodSeconds: 1, containers },
  });
  const shell = (name: string, script: string, more: object = {}) => ({
    name,
    image,
    command: ['sh', '-c', script],
    ...more,
  });
  const program = { name: 'app', image, command: [process.execPath, '-e', server()] };
  const labels = { app: 'web' };
  await node.apply(
    pod('box', [shell('app', busy), shell('side', busy)]),
    pod('echo', [shell('app', 'while read line; do echo "got $line"; done', { stdin: true })]),
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web' },
      spec: {
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [program] } },
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web' },
      spec: { selector: labels, ports: [{ port: 80, targetPort: port }] },
    },
  );
  await kubectl('wait', '--for=condition=Ready', 'pod/box', 'pod/echo', '--timeout=60s');
  await kubectl('rollout', 'status', 'deployment/web', '--timeout=60s');
});
afterAll(() => node.remove());

describe('kubectl top', () => {
  /** A new container is measured when it has run for a second. */
  const measured = (args: readonly string[], wanted: RegExp): Promise<string> =>
    pollUntil(
      `top ${args.join(' ')} says ${wanted}`,
      async () => {
        const { stdout } = await node.tryKubectl('top', ...args);
        return wanted.test(stdout) ? stdout : undefined;
      },
      { timeoutMs: 30_000 },
    );

  it.concurrent.each<[args: string, wanted: RegExp]>([
    ['node', /NAME +CPU\(cores\) +CPU\(%\) +MEMORY\(bytes\) +MEMORY\(%\)\s+\S+ +\d+m +\d+% +\d+Mi +\d+%/],
    ['pods', /box +\d+m +[1-9]\d*Mi/],
    ['pod box --containers', /box +app +\d+m +[1-9]\d*Mi *\n *box +side +\d+m +[1-9]\d*Mi/],
    ['pods -A --sort-by=memory', /^NAMESPACE.*\n *default +web-\S+ [\s\S]*default +box /],
    ['pods -l app=box', /^NAME.*\n *box +\S+ +\S+ *\n$/],
    ['pods --sum', /________/],
  ])('%s', async (args, wanted) => {
    expect(await measured(args.split(' '), wanted)).toMatch(wanted);
  });

  it.concurrent('tells a rate, what it is averaged over, and when', async () => {
    await measured(['pod', 'box'], /box/);
    const usage = JSON.parse(await kubectl('get', 'pods.metrics.k8s.io', 'box', '-o', 'json'));
    expect(usage).toMatchObject({
      apiVersion: 'metrics.k8s.io/v1beta1',
      kind: 'PodMetrics',
      metadata: { name: 'box', namespace: 'default', labels: { app: 'box' } },
      timestamp: expect.stringMatching(/^\d{4}-\d{2}-\d{2}T[\d:]{8}Z$/),
      window: expect.stringMatching(/^[1-9][\d.]*s$/),
      containers: [{ name: 'app', usage: { memory: expect.stringMatching(/Ki$/) } }, { name: 'side' }],
    });
    expect(await kubectl('get', 'podmetrics', 'box')).toMatch(
      /NAME +CPU +MEMORY +WINDOW\s+box +\S+ +\S+ +\S+s/,
    );
  });

  it.concurrent('says what it cannot tell', async () => {
    expect((await node.tryKubectl('top', 'pod', 'none')).stderr).toContain('"none" not found');
    const account = '--as=system:serviceaccount:default:default';
    expect((await node.tryKubectl('top', 'pods', account)).stderr).toContain('Forbidden');
    expect((await node.tryKubectl('top', 'pods', '-l', 'app=none')).stderr).toContain('No resources found');
  });
});

describe('into a pod and out of it', () => {
  it.concurrent('cp, both ways', async () => {
    const dir = path.join(node.stateDir, 'cp');
    const inside = path.join(node.stateDir, 'inside');
    mkdirSync(dir);
    mkdirSync(inside);
    writeFileSync(path.join(dir, 'text'), 'one\ntwo\n');
    await kubectl('cp', dir, `box:${inside}`, '-c', 'side');
    expect(await kubectl('exec', 'box', '-c', 'side', '--', 'cat', `${inside}/cp/text`)).toBe('one\ntwo\n');
    await kubectl('cp', `box:${inside}/cp/text`, path.join(dir, 'back'), '-c', 'side');
    expect(readFileSync(path.join(dir, 'back'), 'utf8')).toBe('one\ntwo\n');
  });

  it.concurrent('exec -it, in a terminal', async () => {
    const shell = await startKubectl(node, ['exec', '-it', 'box', '-c', 'app', '--', 'sh'], { tty: true });
    shell.write('test -t 0 && echo a "terminal"\n');
    await shell.untilSays(/a terminal/);
    shell.write('exit 3\n');
    expect((await shell.end()).exitCode).toBe(3);
  });

  it.concurrent('attach', async () => {
    const attached = await startKubectl(node, ['attach', '-i', 'echo'], { keepInputOpen: true });
    await attached.untilSays(/If you don't see a command prompt/);
    await pollUntil(
      'it answers',
      () => {
        attached.write('hello\n');
        return /got hello/.test(attached.text) ? true : undefined;
      },
      { timeoutMs: 20_000, intervalMs: 500 },
    );
    await attached.kill();
  });

  it.concurrent.each(['pod', 'service', 'deployment'])('port-forward to a %s', async (kind) => {
    const name = kind === 'pod' ? await kubectl('get', 'pods', '-l', 'app=web', '-o', 'name') : `${kind}/web`;
    const wanted = `:${kind === 'service' ? 80 : port}`;
    const forward = await startKubectl(node, ['port-forward', name.trim(), wanted], {});
    const [, from] = await forward.untilSays(/Forwarding from 127\.0\.0\.1:(\d+)/);
    expect(await get(`http://127.0.0.1:${from}/${kind}`)).toBe(`served /${kind}`);
    await forward.kill();
  });

  it.concurrent('proxy', async () => {
    const proxy = await startKubectl(node, ['proxy', '--port=0'], {});
    const [, address] = await proxy.untilSays(/Starting to serve on (\S+)/);
    expect(JSON.parse(await get(`http://${address}/api/v1/namespaces/default/pods/box`)).kind).toBe('Pod');
    expect(await get(`http://${address}/api/v1/namespaces/default/pods/box/proxy/`)).toContain(
      'this node serves no \\"proxy\\" of pods; \\"kubectl port-forward\\" reaches a pod',
    );
    await proxy.kill();
  });

  it.concurrent('logs of a label, followed, of all containers', async () => {
    expect(await kubectl('logs', '-l', 'app=box', '--tail=1', '-c', 'app')).toBe('tick\n');
    const follow = await startKubectl(
      node,
      ['logs', '-l', 'app=box', '-f', '--all-containers', '--prefix'],
      {},
    );
    await follow.untilSays(/\[pod\/box\/app\] tick/);
    await follow.untilSays(/\[pod\/box\/side\] tick/);
    await follow.kill();
  });
});

describe('beside a pod', () => {
  it.concurrent('debug adds a container to it', async () => {
    const given = ['--image=busybox', '--target=app', '-c', 'dbg', '--profile=general'];
    await kubectl('debug', 'box', ...given, '--', 'sh', '-c', 'echo beside');
    const done = '{.status.ephemeralContainerStatuses[0].state.terminated.reason}=Completed';
    await kubectl('wait', `--for=jsonpath=${done}`, 'pod/box', '--timeout=60s');
    expect(await kubectl('logs', 'box', '-c', 'dbg')).toBe('beside\n');
  });

  it.concurrent('debug --copy-to makes another one', async () => {
    const given = [
      '--copy-to=copy',
      '--image=busybox',
      '-c',
      'dbg',
      '--profile=general',
      '--share-processes',
    ];
    await kubectl('debug', 'box', ...given, '--', 'sleep', '60');
    await kubectl('wait', '--for=condition=Ready', 'pod/copy', '--timeout=60s');
    const names = await kubectl('get', 'pod', 'copy', '-o', 'jsonpath={.spec.containers[*].name}');
    expect(names).toBe('app side dbg');
    await kubectl('delete', 'pod', 'copy', '--grace-period=1', '--wait=false');
  });

  it.concurrent('debug node/…', async () => {
    const name = (await kubectl('get', 'nodes', '-o', 'name')).trim();
    const words = ['--image=busybox', '--profile=general', '--', 'sh', '-c', 'echo on the node'];
    const created = await runKubectl(node, ['debug', name, ...words]);
    const [, pod = ''] = /debugging pod (\S+)/.exec(`${created.text}${created.stderr}`) ?? [];
    await kubectl('wait', '--for=jsonpath={.status.phase}=Succeeded', `pod/${pod}`, '--timeout=60s');
    expect(await kubectl('logs', pod)).toBe('on the node\n');
  });

  it.concurrent('run --rm -i gives it input and takes its end', async () => {
    const words = [
      'run',
      'once',
      '--image=busybox',
      '--restart=Never',
      '--rm',
      '-i',
      '--quiet',
      '--',
      'sh',
      '-c',
    ];
    const end = await runKubectl(node, [...words, 'read line; echo "read $line"; exit 4'], {
      input: 'this\n',
    });
    expect(end).toMatchObject({ exitCode: 4 });
    expect(end.text).toContain('read this');
    expect((await node.tryKubectl('get', 'pod', 'once')).stderr).toContain('not found');
  });

  it.concurrent('wait, for what is created, changes and goes', async () => {
    const created = kubectl('wait', '--for=create', 'pod/awaited', '--timeout=60s');
    await kubectl('run', 'awaited', '--image=busybox', '--', 'sleep', '60');
    expect(await created).toContain('condition met');
    await kubectl('wait', '--for=jsonpath={.status.phase}=Running', 'pod/awaited', '--timeout=60s');
    const watched = await startKubectl(node, ['get', 'pod', 'awaited', '--watch', '-o', 'name'], {});
    await watched.untilSays(/pod\/awaited/);
    const gone = kubectl('wait', '--for=delete', 'pod/awaited', '--timeout=60s');
    await kubectl('delete', 'pod', 'awaited', '--grace-period=1', '--wait=false');
    expect(await gone).toContain('condition met');
    await watched.untilSays(/(pod\/awaited\s+){2}/);
    await watched.kill();
    const events = () => kubectl('events', '--for', 'pod/awaited');
    await pollUntil('its end is told', async () => (await events()).includes('Killing') || undefined, {
      timeoutMs: 20_000,
    });
  });
});

describe('describe', () => {
  const object = (apiVersion: string, kind: string, more: object = {}) => ({
    apiVersion,
    kind,
    metadata: { name: `shown-${kind.toLowerCase()}` },
    ...more,
  });
  const rest = { containers: [{ name: 'app', image, command: ['sh', '-c', busy] }] };
  const job = { template: { spec: { ...rest, restartPolicy: 'Never' } } };
  const volume = { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/tmp' } };
  const claim = {
    accessModes: ['ReadWriteOnce'],
    resources: { requests: { storage: '1Gi' } },
    storageClassName: 'x',
  };
  const labels = { app: 'shown' };
  const set = { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: rest } };
  const shown = [
    object('v1', 'Pod', { spec: rest }),
    object('v1', 'ConfigMap', { data: { a: 'b' } }),
    object('v1', 'Secret', { stringData: { a: 'b' } }),
    object('v1', 'ServiceAccount'),
    object('v1', 'Service', { spec: { ports: [{ port: 80 }] } }),
    object('v1', 'Namespace'),
    object('v1', 'PersistentVolume', { spec: volume }),
    object('v1', 'PersistentVolumeClaim', { spec: claim }),
    object('apps/v1', 'Deployment', { spec: { ...set, replicas: 0 } }),
    object('apps/v1', 'ReplicaSet', { spec: { ...set, replicas: 0 } }),
    object('apps/v1', 'StatefulSet', { spec: { ...set, replicas: 0, serviceName: 'x' } }),
    object('apps/v1', 'DaemonSet', { spec: set }),
    object('batch/v1', 'Job', { spec: { ...job, suspend: true } }),
    object('batch/v1', 'CronJob', { spec: { schedule: '0 0 1 1 *', jobTemplate: { spec: job } } }),
    object('discovery.k8s.io/v1', 'EndpointSlice', { addressType: 'IPv4', endpoints: [] }),
    object('coordination.k8s.io/v1', 'Lease', { spec: { holderIdentity: 'me' } }),
    object('node.k8s.io/v1', 'RuntimeClass', { handler: 'runc' }),
    object('scheduling.k8s.io/v1', 'PriorityClass', { value: 1 }),
    object('storage.k8s.io/v1', 'StorageClass', { provisioner: 'none' }),
    object('storage.k8s.io/v1', 'CSIDriver', { spec: {} }),
  ];

  it('shows an object of every kind', async () => {
    await node.apply(...shown);
    const kinds = shown.map(({ kind }) => kind.toLowerCase()).join(',');
    const text = await node.kubectl('describe', kinds);
    for (const { metadata } of shown) expect(text).toMatch(new RegExp(`Name: +${metadata.name}\n`));
    expect(await node.kubectl('describe', 'nodes')).toMatch(/Non-terminated Pods: +\(\d+ in total\)/);
    await node.kubectl('delete', 'pod/shown-pod', 'daemonset/shown-daemonset', '--wait=false');
  });
});
