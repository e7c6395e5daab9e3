/** Starts metrics-server, which collects the nodes' usage for `kubectl top`, and makes it an API of the control plane. */
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, machineAddress } from './addresses.js';
import { answersTls } from './answers.js';
import type { ControlPlane } from './control-plane.js';
import { buildCache, go } from './go-build.js';
import { withLock } from './lock.js';
import { ServerProcess } from './server-process.js';
import { type CleanupStack, createTempDir } from './tempdir.js';

const version = '0.9.0';
const sources = 'sigs.k8s.io/metrics-server';
const name = 'metrics-server';
const namespace = 'kube-system';

/** The program that `METRICS_SERVER` names, then the one in the cache; built last. */
export async function metricsServerProgram(): Promise<string> {
  const given = process.env.METRICS_SERVER;
  if (given !== undefined && given !== '') return given;
  const root = buildCache(`metrics-server-v${version}`);
  const built = join(root, 'bin', name);
  if (!existsSync(built)) await withLock('metrics-server-build', () => build(root, built));
  return built;
}

async function build(root: string, target: string): Promise<void> {
  if (existsSync(target)) return;
  const module = join(root, 'module');
  mkdirSync(module, { recursive: true });
  mkdirSync(join(root, 'bin'), { recursive: true });
  writeFileSync(
    join(module, 'go.mod'),
    `module nodelet.test/metrics-server\ngo 1.26.0\nrequire ${sources} v${version}\n`,
  );
  process.stderr.write(`building metrics-server ${version}; this takes minutes once\n`);
  const args = ['build', '-mod=mod', '-trimpath', '-ldflags', '-s -w', '-o', `${target}.new`];
  await go([...args, `${sources}/cmd/metrics-server`], module, {
    builds: 'metrics-server',
    instead: 'name the program in METRICS_SERVER',
  });
  renameSync(`${target}.new`, target);
}

/** The control plane must have been started with `aggregation`. Returns when the program answers, before it has figures. */
export async function startMetricsServer(
  plane: ControlPlane,
  cleanups: CleanupStack,
): Promise<ServerProcess> {
  const program = await metricsServerProgram();
  const { path: dir } = await createTempDir(name, { cleanups });
  const port = await freePort();
  const { certificate, key } = plane.pki.issueFiles(name, {
    subject: { commonName: name },
    server: { dnsNames: [`${name}.${namespace}.svc`], ipAddresses: [machineAddress()] },
  });
  const kubeconfig = plane.kubeconfigFor(name, ['system:masters']);
  const server = new ServerProcess({
    name,
    program,
    args: [
      `--kubeconfig=${kubeconfig}`,
      `--authentication-kubeconfig=${kubeconfig}`,
      `--authorization-kubeconfig=${kubeconfig}`,
      `--bind-address=${machineAddress()}`,
      `--secure-port=${port}`,
      `--tls-cert-file=${certificate}`,
      `--tls-private-key-file=${key}`,
      `--cert-dir=${join(dir, 'generated')}`,
      `--kubelet-certificate-authority=${plane.pki.path('ca.crt')}`,
      // As its own manifests have it: nodes may listen anywhere.
      '--kubelet-use-node-status-port',
      '--kubelet-preferred-address-types=InternalIP,Hostname',
      // The shortest that it takes.
      '--metric-resolution=10s',
      '--kubelet-request-timeout=9s',
    ],
    logPath: join(dir, `${name}.log`),
    isReady: () => answersTls(port, machineAddress()),
    startTimeoutMs: 120_000,
  });
  cleanups.defer(name, () => server.kill());
  await server.start();
  await plane.apply(...registration(port, Buffer.from(plane.pki.authorityPem).toString('base64')));
  return server;
}

/** What sends calls of `metrics.k8s.io` to the program. */
function registration(port: number, caBundle: string): readonly object[] {
  const ports = [{ name: 'https', port, protocol: 'TCP' }];
  return [
    { apiVersion: 'v1', kind: 'Service', metadata: { name, namespace }, spec: { ports } },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name, namespace, labels: { 'kubernetes.io/service-name': name } },
      addressType: 'IPv4',
      ports,
      endpoints: [{ addresses: [machineAddress()], conditions: { ready: true } }],
    },
    {
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata: { name: 'v1beta1.metrics.k8s.io' },
      spec: {
        group: 'metrics.k8s.io',
        version: 'v1beta1',
        service: { name, namespace, port },
        caBundle,
        groupPriorityMinimum: 100,
        versionPriority: 100,
      },
    },
  ];
}
