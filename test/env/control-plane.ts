/** Starts a Kubernetes control plane for tests: etcd, kube-apiserver and, when asked for, its controllers and scheduler. */
import { cpSync, rmSync } from 'node:fs';
import { get } from 'node:https';
import { createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/async/index.js';
import { connectKubeApi, type KubeConnection, loadKubeconfig } from '../../src/kube/client/index.js';
import { type CommandResult, runCommand } from '../../src/runtimes/containerd/command.js';
import { controlPlaneProgram, etcdProgram } from './control-plane-binaries.js';
import { ClusterPki, certificateUser } from './control-plane-pki.js';
import { ServerProcess } from './server-process.js';
import { sweepLeftovers } from './teardown.js';
import { type CleanupStack, createTempDir, type TempDir } from './tempdir.js';

export interface ControlPlaneOptions {
  /** Stops the control plane when it is run. */
  readonly cleanups?: CleanupStack;
  /** Run kube-controller-manager. Default: no. */
  readonly controllers?: boolean;
  /** Run kube-scheduler. Default: no. */
  readonly scheduler?: boolean;
  /** Added to kube-apiserver's command line. */
  readonly apiServerArgs?: readonly string[];
  /** Added to kube-controller-manager's command line. */
  readonly controllerArgs?: readonly string[];
}

/** Machines under load take long to start anything. */
const startTimeoutMs = 240_000;

export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  await sweepLeftovers();
  const dir = await createTempDir('control-plane');
  const plane = new ControlPlane(dir, options);
  options.cleanups?.defer('control plane', () => plane.stop());
  try {
    await plane.start();
    return plane;
  } catch (error) {
    await plane.stop();
    throw error;
  }
}

/** The machine's own address; pods and nodes must not be on loopback. */
export function machineAddress(): string {
  const found = Object.values(networkInterfaces())
    .flat()
    .find((address) => address !== undefined && address.family === 'IPv4' && !address.internal);
  if (found === undefined) throw new Error('this machine has no network address but loopback');
  return found.address;
}

export class ControlPlane {
  readonly pki: ClusterPki;
  readonly #dir: TempDir;
  readonly #options: ControlPlaneOptions;
  readonly #servers = new Map<string, ServerProcess>();
  readonly #connections: KubeConnection[] = [];
  #port = 0;
  #etcdPort = 0;

  constructor(dir: TempDir, options: ControlPlaneOptions) {
    this.#dir = dir;
    this.#options = options;
    this.pki = new ClusterPki(join(dir.path, 'pki'));
  }

  get url(): string {
    return `https://${machineAddress()}:${this.#port}`;
  }

  get adminKubeconfig(): string {
    return this.pki.path('admin.kubeconfig');
  }

  /** The etcd, kube-apiserver, kube-controller-manager or kube-scheduler of this control plane. */
  server(name: string): ServerProcess {
    const found = this.#servers.get(name);
    if (found === undefined) throw new Error(`${name} is not part of this control plane`);
    return found;
  }

  async start(): Promise<void> {
    this.#etcdPort = await freePort();
    this.#port = await freePort();
    this.#writeIdentities();
    await this.#defineEtcd();
    await this.#defineApiServer();
    await this.server('etcd').start();
    await this.server('kube-apiserver').start();
    if (this.#options.controllers === true) await this.#startController('kube-controller-manager');
    if (this.#options.scheduler === true) await this.#startController('kube-scheduler');
  }

  /** Stops everything and removes its files; may be called again. */
  async stop(): Promise<void> {
    for (const connection of this.#connections.splice(0)) connection.close();
    for (const name of ['kube-scheduler', 'kube-controller-manager', 'kube-apiserver', 'etcd']) {
      await this.#servers.get(name)?.kill();
    }
    await this.#dir.remove();
  }

  /** A kubeconfig for a user of this name and these groups; a file of its own for each. */
  kubeconfigFor(commonName: string, organizations: readonly string[] = [], lifetimeMs?: number): string {
    const name = commonName.replace(/[^a-z0-9.-]+/gi, '-');
    const subject = { commonName, organizations };
    const pair = this.pki.issue({ subject, ...(lifetimeMs === undefined ? {} : { lifetimeMs }) });
    return this.pki.kubeconfig(name, this.url, certificateUser(pair));
  }

  /** One with the rights of a node. */
  nodeKubeconfig(nodeName: string): string {
    return this.kubeconfigFor(`system:node:${nodeName}`, ['system:nodes']);
  }

  /** A connection with the identity of a kubeconfig file, closed when the control plane stops. Default: the admin's. */
  async connect(kubeconfig = this.adminKubeconfig): Promise<KubeConnection> {
    const connection = connectKubeApi({
      clock: systemClock,
      access: await loadKubeconfig(kubeconfig),
      userAgent: 'nodelet-test',
    });
    this.#connections.push(connection);
    return connection;
  }

  async kubectl(args: readonly string[], input?: string): Promise<CommandResult> {
    const kubectl = await controlPlaneProgram('kubectl');
    const env = { KUBECONFIG: this.adminKubeconfig, HOME: this.#dir.path };
    return runCommand(kubectl, args, { env, ...(input === undefined ? {} : { input }), timeoutMs: 180_000 });
  }

  /** What is stored now, under a name of the test's choice. The servers are down meanwhile. */
  async backup(name: string): Promise<void> {
    await this.#withStoppedEtcd(() =>
      cpSync(this.#dataDir, join(this.#dir.path, `backup-${name}`), { recursive: true }),
    );
  }

  /** Back to a backup: older objects under older versions. */
  async restore(name: string): Promise<void> {
    await this.#withStoppedEtcd(() => {
      rmSync(this.#dataDir, { recursive: true });
      cpSync(join(this.#dir.path, `backup-${name}`), this.#dataDir, { recursive: true });
    });
  }

  async #withStoppedEtcd(work: () => void): Promise<void> {
    await this.server('kube-apiserver').kill();
    await this.server('etcd').stop();
    work();
    await this.server('etcd').start();
    await this.server('kube-apiserver').start();
  }

  get #dataDir(): string {
    return join(this.#dir.path, 'etcd');
  }

  #writeIdentities(): void {
    const ipAddresses = ['127.0.0.1', '10.96.0.1', machineAddress()];
    const dnsNames = ['localhost', 'kubernetes', 'kubernetes.default', 'kubernetes.default.svc'];
    this.pki.issueFiles('apiserver', {
      subject: { commonName: 'kube-apiserver' },
      server: { dnsNames, ipAddresses },
    });
    this.pki.issueFiles('kubelet-client', {
      subject: { commonName: 'kube-apiserver-kubelet-client', organizations: ['system:masters'] },
    });
    const identity = (name: string, commonName: string, organizations: readonly string[] = []): void => {
      const pair = this.pki.issue({ subject: { commonName, organizations } });
      this.pki.kubeconfig(name, this.url, certificateUser(pair));
    };
    identity('admin', 'kubernetes-admin', ['system:masters']);
    identity('kube-controller-manager', 'system:kube-controller-manager');
    identity('kube-scheduler', 'system:kube-scheduler');
  }

  async #defineEtcd(): Promise<void> {
    const client = `http://127.0.0.1:${this.#etcdPort}`;
    const peer = `http://127.0.0.1:${await freePort()}`;
    this.#define(
      'etcd',
      await etcdProgram(),
      [
        `--data-dir=${this.#dataDir}`,
        `--listen-client-urls=${client}`,
        `--advertise-client-urls=${client}`,
        `--listen-peer-urls=${peer}`,
        `--initial-advertise-peer-urls=${peer}`,
        `--initial-cluster=default=${peer}`,
      ],
      () => answers(`${client}/health`),
    );
  }

  async #defineApiServer(): Promise<void> {
    const file = (name: string): string => this.pki.path(name);
    const args = [
      `--etcd-servers=http://127.0.0.1:${this.#etcdPort}`,
      `--bind-address=${machineAddress()}`,
      `--advertise-address=${machineAddress()}`,
      `--secure-port=${this.#port}`,
      `--tls-cert-file=${file('apiserver.crt')}`,
      `--tls-private-key-file=${file('apiserver.key')}`,
      `--cert-dir=${file('generated')}`,
      `--client-ca-file=${file('ca.crt')}`,
      `--kubelet-certificate-authority=${file('ca.crt')}`,
      `--kubelet-client-certificate=${file('kubelet-client.crt')}`,
      `--kubelet-client-key=${file('kubelet-client.key')}`,
      '--kubelet-preferred-address-types=InternalIP,Hostname',
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-account-key-file=${file('sa.pub')}`,
      `--service-account-signing-key-file=${file('sa.key')}`,
      '--service-cluster-ip-range=10.96.0.0/16',
      '--authorization-mode=Node,RBAC',
      '--enable-admission-plugins=NodeRestriction',
      '--enable-bootstrap-token-auth=true',
      '--allow-privileged=true',
      ...(this.#options.apiServerArgs ?? []),
    ];
    const admin = await this.connect();
    const api = admin.client({ timeoutMs: 5000 });
    const isReady = (): Promise<boolean> =>
      api.getText('/readyz').then(
        () => true,
        () => false,
      );
    this.#define('kube-apiserver', await controlPlaneProgram('kube-apiserver'), args, isReady);
  }

  async #startController(name: 'kube-controller-manager' | 'kube-scheduler'): Promise<void> {
    const port = await freePort();
    const kubeconfig = this.pki.path(`${name}.kubeconfig`);
    const args = [
      `--kubeconfig=${kubeconfig}`,
      `--authentication-kubeconfig=${kubeconfig}`,
      `--authorization-kubeconfig=${kubeconfig}`,
      '--leader-elect=false',
      '--bind-address=127.0.0.1',
      `--secure-port=${port}`,
      `--cert-dir=${this.pki.path('generated')}`,
      '--authorization-always-allow-paths=/healthz,/readyz,/livez',
      ...(name === 'kube-controller-manager' ? this.#controllerArgs() : []),
    ];
    this.#define(name, await controlPlaneProgram(name), args, () => answersTls(port));
    await this.server(name).start();
  }

  #controllerArgs(): readonly string[] {
    const file = (name: string): string => this.pki.path(name);
    return [
      '--controllers=*,bootstrapsigner,tokencleaner',
      '--use-service-account-credentials=true',
      `--service-account-private-key-file=${file('sa.key')}`,
      `--root-ca-file=${file('ca.crt')}`,
      `--cluster-signing-cert-file=${file('ca.crt')}`,
      `--cluster-signing-key-file=${file('ca.key')}`,
      '--kube-api-qps=100',
      '--kube-api-burst=200',
      ...(this.#options.controllerArgs ?? []),
    ];
  }

  #define(name: string, program: string, args: readonly string[], isReady: () => Promise<boolean>): void {
    const logPath = join(this.#dir.path, `${name}.log`);
    this.#servers.set(name, new ServerProcess({ name, program, args, logPath, isReady, startTimeoutMs }));
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).ok;
  } catch {
    // It does not listen yet.
    return false;
  }
}

/** With a certificate that the server made for itself. */
function answersTls(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get({
      host: '127.0.0.1',
      port,
      path: '/healthz',
      rejectUnauthorized: false,
      agent: false,
    });
    request.on('error', () => resolve(false));
    request.on('response', (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
  });
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, machineAddress(), resolve));
  const address = server.address();
  await new Promise<void>((resolve) => server.close(() => resolve()));
  if (address === null || typeof address === 'string') throw new Error('no free port');
  return address.port;
}
