/** A machine of its own that becomes a node of a cluster: what goes on, what ends, and that nothing runs twice. */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connectCri } from '../../src/cri/index.js';
import { freePort, machineAddress } from '../env/addresses.js';
import { answers } from '../env/answers.js';
import { CleanupStack, type ControlPlane, pollUntil, startControlPlane } from '../env/index.js';
import { ServerProcess } from '../env/server-process.js';
import { BareNode } from './bare-node.js';

const binary = path.resolve(import.meta.dirname, '../../bin/nodelet');
const nodeName = 'moving';
const bare = new BareNode({
  runtime: ['--runtime', 'process'],
  serviceCidr: '10.116.0.0/24',
  agentFlags: (stateDir) => [`--hostname-override=${nodeName}`, `--pod-manifest-path=${stateDir}/static`],
});
const place = (name: string): string => path.join(bare.stateDir, name);
const endpoint = `unix://${place('cri.sock')}`;
const cleanups = new CleanupStack();
let plane: ControlPlane;

/** Notes whether it is the only one that holds the lock, which it lets go of at its end. */
const holder =
  `mkdir ${place('lock')} && echo alone >> ${place('journal')} || echo twice >> ${place('journal')}; ` +
  `trap 'rmdir ${place('lock')}; exit 0' TERM; while true; do sleep 0.1; done`;
const spec = (script: string) => ({
  // Nothing to wait for before it starts.
  automountServiceAccountToken: false,
  terminationGracePeriodSeconds: 10,
  containers: [{ name: 'app', image: 'busybox', command: ['sh', '-c', script] }],
});
const manifests = [
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'holder' },
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: 'holder' } },
      template: { metadata: { labels: { app: 'holder' } }, spec: spec(holder) },
    },
  },
  { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings' }, data: { a: '1' } },
];
const fixed = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'fixed', namespace: 'default' },
  spec: spec(`trap 'exit 0' TERM; while true; do sleep 0.1; done # ${bare.stateDir}`),
};

beforeAll(async () => {
  mkdirSync(place('static'));
  writeFileSync(place('static/fixed.json'), JSON.stringify(fixed));
  [plane] = await Promise.all([
    startControlPlane({ controllers: true, scheduler: true, cleanups }),
    bare.start(),
  ]);
});
afterAll(async () => {
  await cleanups.run();
  await bare.remove();
});

/** The containers that run, by pod, as the runtime tells. */
async function running(): Promise<Record<string, string>> {
  const cri = connectCri({ endpoint, requestTimeoutMs: 60_000 });
  try {
    const { containers } = await cri.listContainers({ filter: { state: { state: 1 } } });
    return Object.fromEntries(
      containers.map(({ id, labels }) => [labels['io.kubernetes.pod.name'] ?? '', id]),
    );
  } finally {
    cri.close();
  }
}

async function start(name: string, args: readonly string[], isReady: () => Promise<boolean>): Promise<void> {
  const logPath = place(`${name}.log`);
  const server = new ServerProcess({ name, program: binary, args, logPath, isReady, startTimeoutMs: 60_000 });
  cleanups.defer(name, () => server.end('SIGTERM'));
  await server.start();
}

/** As docs/bare-node.md tells. */
async function becomeNode(): Promise<void> {
  const healthzPort = await freePort();
  writeFileSync(
    place('config.json'),
    JSON.stringify({
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      address: machineAddress(),
      port: await freePort(),
      healthzPort,
      staticPodPath: place('static'),
      podLogsDir: place('logs'),
      failCgroupV1: false,
      failSwapOn: false,
      cgroupsPerQOS: false,
      enforceNodeAllocatable: [],
      authentication: { x509: { clientCAFile: plane.pki.path('ca.crt') } },
    }),
  );
  const agent = [
    'agent',
    `--config=${place('config.json')}`,
    `--kubeconfig=${plane.nodeKubeconfig(nodeName)}`,
    `--root-dir=${place('kubelet')}`,
    `--cert-dir=${place('pki-of-cluster')}`,
    `--container-runtime-endpoint=${endpoint}`,
    `--hostname-override=${nodeName}`,
    `--node-ip=${machineAddress()}`,
    `--container-logs-dir=${place('log-links')}`,
  ];
  await start('agent', agent, () => answers(`http://127.0.0.1:${healthzPort}/healthz`));
}

it('keeps static pods, ends the pods of the former API first, and runs those of the new one', async () => {
  await bare.apply(...manifests);
  await bare.kubectl('rollout', 'status', 'deployment/holder', '--timeout=60s');
  await bare.kubectl('wait', '--for=condition=Ready', `pod/fixed-${nodeName}`, '--timeout=60s');
  expect(await bare.end('SIGTERM')).toBe(0);
  expect(readdirSync(bare.stateDir)).toContain('lock');

  const serve = [
    'cri',
    'serve',
    '--runtime=process',
    `--root-dir=${place('processes')}`,
    `--listen=${endpoint}`,
  ];
  await start('runtime', serve, () =>
    running().then(
      () => true,
      () => false,
    ),
  );
  const before = await running();
  expect(Object.keys(before)).toHaveLength(2);

  // The cluster gives the node its pod before the node is there.
  const taint = { key: 'node.kubernetes.io/not-ready', operator: 'Exists' };
  const [deployment, ...rest] = manifests;
  const template = {
    ...deployment?.spec?.template,
    spec: { ...spec(holder), nodeName, tolerations: [taint] },
  };
  await plane.apply({ ...deployment, spec: { ...deployment?.spec, template } }, ...rest);
  await becomeNode();
  await plane.kubectl(['rollout', 'status', 'deployment/holder', '--timeout=90s']);

  const after = await running();
  expect(Object.keys(after)).toHaveLength(2);
  expect(after[`fixed-${nodeName}`]).toBe(before[`fixed-${nodeName}`]);
  const [was] = Object.keys(before).filter((name) => name.startsWith('holder'));
  expect(Object.keys(after)).not.toContain(was);
  // Its container runs a moment before its script has written.
  const journal = (): string => readFileSync(place('journal'), 'utf8');
  await pollUntil('both pods have written', () => (journal().split('\n').length > 2 ? true : undefined), {
    timeoutMs: 30_000,
    detail: journal,
  });
  expect(journal()).toBe('alone\nalone\n');
  const mirror = JSON.parse((await plane.kubectl(['get', 'pod', `fixed-${nodeName}`, '-o', 'json'])).stdout);
  expect(mirror.status.containerStatuses[0]).toMatchObject({
    containerID: expect.stringContaining(before[`fixed-${nodeName}`] ?? 'none'),
    restartCount: 0,
  });
});

it('leaves nothing of the former pods', async () => {
  const pods = JSON.parse((await plane.kubectl(['get', 'pods', '-o', 'json'])).stdout);
  const known = pods.items.map(
    ({ metadata }: { metadata: { uid: string; annotations?: Record<string, string> } }) =>
      metadata.annotations?.['kubernetes.io/config.mirror'] ?? metadata.uid,
  );
  await pollUntil(
    'only the pods of the cluster have directories',
    () =>
      readdirSync(place('kubelet/pods')).toSorted().join() === known.toSorted().join() ? true : undefined,
    { timeoutMs: 60_000 },
  );
  await plane.kubectl(['delete', 'deployment', 'holder', '--timeout=60s']);
  rmSync(place('static/fixed.json'));
  await pollUntil(
    'nothing runs',
    async () => (Object.keys(await running()).length === 0 ? true : undefined),
    {
      timeoutMs: 60_000,
    },
  );
});
