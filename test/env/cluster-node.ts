/** One node of a test's cluster: a containerd and nodelet, or another kubelet to compare it with, joined to a control plane. */
import {
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  writeFileSync,
} from 'node:fs';
import { lstat, readdir, readlink, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Node } from '../../src/kube/index.js';
import { resources } from '../../src/kube-client/index.js';
import { linuxCgroups } from '../../src/resources/cgroups/index.js';
import { freePort, machineAddress } from './addresses.js';
import { answers } from './answers.js';
import { startContainerd, type TestContainerd } from './containerd.js';
import type { ControlPlane } from './control-plane.js';
import { ServerProcess } from './server-process.js';
import { type CleanupStack, createTempDir } from './tempdir.js';
import { ifThere } from './vanishing.js';

export interface ClusterNodeOptions {
  /** Takes the node away when it is run. */
  readonly cleanups: CleanupStack;
  readonly plane: ControlPlane;
  /** Default: one of its own. */
  readonly containerd?: TestContainerd;
  /** Default: `node1`. */
  readonly name?: string;
  /** Fields of the configuration file beside or instead of those that every test needs. */
  readonly config?: Readonly<Record<string, unknown>>;
  readonly flags?: readonly string[];
  /** A program that takes the reference kubelet's flags. Default: `NODELET_TEST_KUBELET`, else this project's nodelet. */
  readonly kubelet?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Default: that of the name, with the rights of a node. */
  readonly kubeconfig?: string;
  /** Whether to start the kubelet at once. Default: yes. */
  readonly start?: boolean;
}

const startTimeoutMs = 60_000;
const shownLogBytes = 1024 * 1024;
/** Where the reference kubelet links logs to, whatever it is told. */
const fixedLogLinks = '/var/log/containers';
const ticksPerSecond = 100;

export async function startClusterNode(options: ClusterNodeOptions): Promise<ClusterNode> {
  const { cleanups, plane, name = 'node1' } = options;
  const containerd = options.containerd ?? (await startContainerd({ cleanups }));
  const { path: dir } = await createTempDir('node', { cleanups });
  const [port, healthzPort] = [await freePort(), await freePort()];
  const node = new ClusterNode({ ...options, name }, containerd, { dir, port, healthzPort });
  cleanups.defer(`node ${name}`, () => node.remove());
  node.writeFiles(plane);
  if (options.start !== false) await node.start();
  return node;
}

interface Place {
  readonly dir: string;
  readonly port: number;
  readonly healthzPort: number;
}

export class ClusterNode {
  readonly name: string;
  readonly address = machineAddress();
  /** Of the kubelet API, with TLS. */
  readonly port: number;
  readonly healthzPort: number;
  readonly rootDir: string;
  readonly staticPodDir: string;
  readonly podLogsDir: string;
  /** The configuration file; what is written to it holds from the next start. */
  readonly configFile: string;
  readonly #dir: string;
  readonly #options: ClusterNodeOptions;
  #server: ServerProcess;

  constructor(
    options: ClusterNodeOptions & { readonly name: string },
    readonly containerd: TestContainerd,
    { dir, port, healthzPort }: Place,
  ) {
    this.#dir = dir;
    this.#options = options;
    this.name = options.name;
    this.port = port;
    this.healthzPort = healthzPort;
    this.rootDir = join(dir, 'root');
    this.staticPodDir = join(dir, 'manifests');
    this.podLogsDir = join(dir, 'logs');
    this.configFile = join(dir, 'config.yaml');
    this.#server = this.#serverOf(options.kubelet);
  }

  /** The kubelet's process; `undefined` while it is down. */
  get pid(): number | undefined {
    return this.#server.pid;
  }

  get isRunning(): boolean {
    return this.#server.isRunning;
  }

  /** The end of what the kubelet has written in all its lives. */
  get log(): string {
    const file = ifThere(() => openSync(this.logPath, 'r'));
    if (file === undefined) return '';
    try {
      const { size } = fstatSync(file);
      const shown = Buffer.alloc(Math.min(size, shownLogBytes));
      readSync(file, shown, 0, shown.length, size - shown.length);
      return shown.toString();
    } finally {
      closeSync(file);
    }
  }

  /** Starts the kubelet if it is down and returns when its health check answers; the node may not be ready yet. */
  start(): Promise<void> {
    return this.#server.start();
  }

  /** Ends the kubelet; containers run on. */
  stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    return this.#server.end(signal);
  }

  kill9(): Promise<void> {
    return this.#server.kill();
  }

  /** Another program is the kubelet of this node from its next start; without a name, the one of the options. */
  async switchTo(kubelet?: string): Promise<void> {
    await this.stop();
    this.#server = this.#serverOf(kubelet ?? this.#options.kubelet);
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /** The processor time that this life of the kubelet has used. */
  cpuSeconds(): number {
    const stat = readFileSync(`/proc/${this.#running()}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
  }

  rssBytes(): number {
    const status = readFileSync(`/proc/${this.#running()}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
  }

  /** Waits until the API shows the node as ready and pods may be put on it, and returns it. */
  ready(timeoutMs = 60_000): Promise<Node> {
    const { plane } = this.#options;
    const wanted = (node: Node): boolean => isReady(node) && !(plane.hasControllers && isShunned(node));
    return plane
      .waitFor(resources.nodes, { name: this.name }, 'is ready', wanted, timeoutMs)
      .catch((error: unknown) => {
        throw new Error(`${String(error)}\n${this.log.slice(-4000)}`);
      });
  }

  /** Puts a file into the directory of static pods. */
  writeStaticPod(file: string, manifest: object): void {
    writeFileSync(join(this.staticPodDir, file), JSON.stringify(manifest));
  }

  /** Makes the files that the kubelet is started with. */
  writeFiles(plane: ControlPlane): void {
    const certificate = plane.pki.issueFiles(`kubelet-${this.name}`, {
      subject: { commonName: `system:node:${this.name}`, organizations: ['system:nodes'] },
      server: { dnsNames: [this.name], ipAddresses: [this.address] },
    });
    mkdirSync(this.staticPodDir, { recursive: true });
    const config = {
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      address: this.address,
      port: this.port,
      healthzPort: this.healthzPort,
      healthzBindAddress: this.address,
      readOnlyPort: 0,
      tlsCertFile: certificate.certificate,
      tlsPrivateKeyFile: certificate.key,
      authentication: {
        x509: { clientCAFile: plane.pki.path('ca.crt') },
        anonymous: { enabled: false },
        webhook: { enabled: true, cacheTTL: '2s' },
      },
      authorization: { mode: 'Webhook', webhook: { cacheAuthorizedTTL: '2s', cacheUnauthorizedTTL: '2s' } },
      containerRuntimeEndpoint: this.containerd.endpoint,
      cgroupDriver: 'cgroupfs',
      cgroupRoot: this.containerd.cgroupParent,
      cgroupsPerQOS: true,
      enforceNodeAllocatable: ['pods'],
      failCgroupV1: false,
      failSwapOn: false,
      // Lower than its own, no process may set it here.
      oomScoreAdj: Number(readFileSync('/proc/self/oom_score_adj', 'utf8')),
      staticPodPath: this.staticPodDir,
      podLogsDir: this.podLogsDir,
      volumePluginDir: join(this.#dir, 'volume-plugins'),
      clusterDomain: 'cluster.local',
      clusterDNS: ['10.96.0.10'],
      makeIPTablesUtilChains: false,
      syncFrequency: '10s',
      fileCheckFrequency: '2s',
      // Machines of tests are full or not; pods must not depend on it.
      evictionHard: {
        'memory.available': '0%',
        'nodefs.available': '0%',
        'nodefs.inodesFree': '0%',
        'imagefs.available': '0%',
        'imagefs.inodesFree': '0%',
      },
      imageGCHighThresholdPercent: 100,
      imageGCLowThresholdPercent: 99,
      ...this.#options.config,
    };
    writeFileSync(this.configFile, JSON.stringify(config, undefined, 2));
    if (config.cgroupsPerQOS) this.#makeCgroupRoot();
  }

  /** Ends the kubelet for good. */
  async remove(): Promise<void> {
    await this.kill9();
    for (const entry of await readdir(fixedLogLinks).catch(() => [])) {
      const link = join(fixedLogLinks, entry);
      if (!(await lstat(link)).isSymbolicLink()) continue;
      if ((await readlink(link)).startsWith(`${this.podLogsDir}/`)) await rm(link);
    }
  }

  /** Where the kubelet writes in all its lives. */
  get logPath(): string {
    return join(this.#dir, 'kubelet.log');
  }

  /** A kubelet that makes cgroups of pods wants the one above them to be there. */
  #makeCgroupRoot(): void {
    const version = existsSync('/sys/fs/cgroup/cgroup.controllers') ? 2 : 1;
    linuxCgroups({ version, hugePageSizes: [] }).create(this.containerd.cgroupParent);
  }

  #serverOf(kubelet: string | undefined): ServerProcess {
    const [program, ...args] = this.#commandLine(kubelet);
    const { env } = this.#options;
    return new ServerProcess({
      name: `the kubelet of ${this.name}`,
      program,
      args,
      logPath: this.logPath,
      isReady: () => answers(`http://${this.address}:${this.healthzPort}/healthz`),
      startTimeoutMs,
      ...(env === undefined ? {} : { env }),
    });
  }

  #commandLine(kubelet: string | undefined): [string, ...string[]] {
    const { plane, kubeconfig, flags = [] } = this.#options;
    const shared = [
      `--config=${this.configFile}`,
      `--kubeconfig=${kubeconfig ?? plane.nodeKubeconfig(this.name)}`,
      `--root-dir=${this.rootDir}`,
      `--cert-dir=${join(this.#dir, 'pki')}`,
      `--hostname-override=${this.name}`,
      `--node-ip=${this.address}`,
    ];
    const other = kubelet ?? process.env.NODELET_TEST_KUBELET;
    if (other !== undefined && other !== '') return [other, ...shared, '--v=2', ...flags];
    const own = [
      'agent',
      `--container-logs-dir=${join(this.#dir, 'log-links')}`,
      `--device-plugin-dir=${join(this.#dir, 'devices')}`,
    ];
    return [process.execPath, nodelet(), ...own, ...shared, ...flags];
  }

  #running(): number {
    const { pid } = this;
    if (pid === undefined)
      throw new Error(`the kubelet of ${this.name} does not run:\n${this.log.slice(-2000)}`);
    return pid;
  }
}

function nodelet(): string {
  return process.env.NODELET_BUNDLE ?? fileURLToPath(new URL('../../bin/nodelet', import.meta.url));
}

function isReady({ status }: Node): boolean {
  return status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false;
}

/** Until a controller has seen that it is ready. */
function isShunned({ spec }: Node): boolean {
  return spec?.taints?.some(({ key }) => key === 'node.kubernetes.io/not-ready') ?? false;
}
