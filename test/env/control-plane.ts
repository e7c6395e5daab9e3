/** Starts a Kubernetes control plane for tests: etcd, kube-apiserver and, when asked for, its controllers and scheduler. */
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../src/async/index.js';
import type { KubeObject } from '../../src/kube/index.js';
import {
  ApiError,
  connectKubeApi,
  type KubeApi,
  type KubeConnection,
  loadKubeconfig,
  type ObjectRef,
  type Resource,
  resources,
} from '../../src/kube-client/index.js';
import { freePort, machineAddress } from './addresses.js';
import { answers, answersTls } from './answers.js';
import { type CommandResult, runCommand } from './command.js';
import {
  aggregationArguments,
  apiServerArguments,
  type Controller,
  controllerArguments,
  etcdArguments,
  frontProxy,
} from './control-plane-arguments.js';
import { controlPlaneProgram, etcdProgram, type KubernetesVersion } from './control-plane-binaries.js';
import { ClusterPki, certificateUser } from './control-plane-pki.js';
import { newerEtcdProgram } from './newer-etcd.js';
import { pollUntil } from './poll.js';
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
  /** The version of kube-apiserver. Default: that of the other programs. */
  readonly apiServerVersion?: KubernetesVersion;
  /** `newer`: one that the server can stream lists with. Default: the machine's package. */
  readonly etcd?: 'packaged' | 'newer';
  /** Whether other programs may serve APIs through kube-apiserver, which reaches them by the endpoints of a Service. Default: no. */
  readonly aggregation?: boolean;
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

export class ControlPlane {
  readonly pki: ClusterPki;
  readonly #dir: TempDir;
  readonly #options: ControlPlaneOptions;
  readonly #servers = new Map<string, ServerProcess>();
  readonly #connections: KubeConnection[] = [];
  #admin: KubeApi | undefined;
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

  get hasControllers(): boolean {
    return this.#options.controllers === true;
  }

  /** Calls with all rights. */
  get admin(): KubeApi {
    if (this.#admin === undefined) throw new Error('the control plane has not been started');
    return this.#admin;
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
    if (this.hasControllers) {
      await this.#startController('kube-controller-manager');
      await this.#acceptsPods();
    }
    if (this.#options.scheduler === true) await this.#startController('kube-scheduler');
  }

  /** Pods are refused before the controllers have made what each of them gets. */
  async #acceptsPods(): Promise<void> {
    const namespace = 'default';
    await this.waitFor(resources.serviceAccounts, { namespace, name: 'default' }, 'is made', () => true);
    await this.waitFor(resources.configMaps, { namespace, name: 'kube-root-ca.crt' }, 'is made', () => true);
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

  /** Creates or changes objects as `kubectl apply` does. */
  async apply(...objects: readonly object[]): Promise<void> {
    const list = { apiVersion: 'v1', kind: 'List', items: objects };
    await this.kubectl(['apply', '-f', '-'], JSON.stringify(list));
  }

  /** Waits until an object is as wanted, and returns it. */
  async waitFor<T extends KubeObject>(
    resource: Resource<T>,
    ref: ObjectRef,
    what: string,
    wanted: (object: T) => boolean,
    timeoutMs = 60_000,
  ): Promise<T> {
    let last: T | undefined;
    return pollUntil(
      `${resource.kind} ${ref.name} ${what}`,
      async () => {
        last = await this.find(resource, ref);
        return last !== undefined && wanted(last) ? last : undefined;
      },
      { timeoutMs, intervalMs: 100, detail: () => JSON.stringify(last, undefined, 1) },
    );
  }

  async waitGone(resource: Resource, ref: ObjectRef, timeoutMs = 60_000): Promise<void> {
    let last: KubeObject | undefined;
    await pollUntil(
      `${resource.kind} ${ref.name} is gone`,
      async () => {
        last = await this.find(resource, ref);
        return last === undefined ? true : undefined;
      },
      { timeoutMs, intervalMs: 100, detail: () => JSON.stringify(last, undefined, 1) },
    );
  }

  /** `undefined` when there is no such object. */
  async find<T extends KubeObject>(resource: Resource<T>, ref: ObjectRef): Promise<T | undefined> {
    return this.admin.get(resource, ref).catch((error: unknown) => {
      if (error instanceof ApiError && error.reason === 'NotFound') return undefined;
      throw error;
    });
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
    this.pki.issueFiles(frontProxy, { subject: { commonName: frontProxy } });
    const identity = (name: string, commonName: string, organizations: readonly string[] = []): void => {
      const pair = this.pki.issue({ subject: { commonName, organizations } });
      this.pki.kubeconfig(name, this.url, certificateUser(pair));
    };
    identity('admin', 'kubernetes-admin', ['system:masters']);
    identity('kube-controller-manager', 'system:kube-controller-manager');
    identity('kube-scheduler', 'system:kube-scheduler');
  }

  async #defineEtcd(): Promise<void> {
    const url = this.#etcdUrl;
    const args = etcdArguments(this.#dataDir, url, `http://127.0.0.1:${await freePort()}`);
    const program = this.#options.etcd === 'newer' ? await newerEtcdProgram() : await etcdProgram();
    this.#define('etcd', program, args, () => answers(`${url}/health`));
  }

  get #etcdUrl(): string {
    return `http://127.0.0.1:${this.#etcdPort}`;
  }

  async #defineApiServer(): Promise<void> {
    const { apiServerArgs = [], aggregation = false } = this.#options;
    const more = [...(aggregation ? aggregationArguments(this.pki) : []), ...apiServerArgs];
    const args = apiServerArguments(this.#etcdUrl, { pki: this.pki, port: this.#port, more });
    const connection = await this.connect();
    this.#admin = connection.client();
    const api = connection.client({ timeoutMs: 5000 });
    const isReady = (): Promise<boolean> =>
      api.getText('/readyz').then(
        () => true,
        () => false,
      );
    const program = await controlPlaneProgram('kube-apiserver', this.#options.apiServerVersion);
    this.#define('kube-apiserver', program, args, isReady);
  }

  async #startController(name: Controller): Promise<void> {
    const port = await freePort();
    const more = name === 'kube-controller-manager' ? (this.#options.controllerArgs ?? []) : [];
    const args = controllerArguments(name, { pki: this.pki, port, more });
    this.#define(name, await controlPlaneProgram(name), args, () => answersTls(port));
    await this.server(name).start();
  }

  #define(name: string, program: string, args: readonly string[], isReady: () => Promise<boolean>): void {
    const logPath = join(this.#dir.path, `${name}.log`);
    this.#servers.set(name, new ServerProcess({ name, program, args, logPath, isReady, startTimeoutMs }));
  }
}
