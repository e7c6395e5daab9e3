/** The built agent as a process of its own, which a soak kills and starts again, with a gauge inside and a log that stays small. */
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformSync } from 'esbuild';
import { linuxCgroups } from '../../src/resources/cgroups/index.js';
import { answers } from '../../test/env/answers.js';
import { freePort, type TestContainerd } from '../../test/env/index.js';
import { ServerProcess } from '../../test/env/server-process.js';

export interface SoakAgentOptions {
  /** The program as it is shipped, where nobody builds it anew meanwhile. */
  readonly program: string;
  readonly containerd: TestContainerd;
  /** For what is not on the small disk: configuration, manifests, logs. */
  readonly dir: string;
  readonly rootDir: string;
  /** With one the agent is a node of a cluster. */
  readonly kubeconfig?: string;
}

export const nodeName = 'soak';
const gauge = fileURLToPath(new URL('../sample/gauge.ts', import.meta.url));
const startTimeoutMs = 120_000;
const address = '127.0.0.1';
export const agentLimits = {
  /** A longer log is cut. */
  logBytes: 64 * 1024 * 1024,
  /** What is kept of a log that is cut. */
  keptLogBytes: 8 * 1024 * 1024,
} as const;

export class SoakAgent {
  readonly manifestsDir: string;
  readonly objectsDir: string;
  readonly podLogsDir: string;
  readonly logLinksDir: string;
  readonly logPath: string;
  /** Where the gauge inside the agent answers. */
  readonly gaugeSocket: string;
  readonly rootDir: string;
  /** Counts the processes that were the agent. */
  life = 0;
  /** Whether it should run: its end is a fault of its own when it should. */
  isWanted = false;
  readonly #options: SoakAgentOptions;
  readonly #ports: AgentPorts;
  readonly #server: ServerProcess;

  constructor(options: SoakAgentOptions, ports: AgentPorts) {
    const { dir } = options;
    this.#options = options;
    this.#ports = ports;
    this.rootDir = options.rootDir;
    this.manifestsDir = join(dir, 'manifests');
    this.objectsDir = join(dir, 'objects');
    this.podLogsDir = join(dir, 'logs');
    this.logLinksDir = join(dir, 'links');
    this.logPath = join(dir, 'agent.log');
    this.gaugeSocket = join(dir, 'gauge.sock');
    for (const made of [this.manifestsDir, this.objectsDir]) mkdirSync(made, { recursive: true });
    this.#makeCgroup();
    // Every life of a soak has the same one, whoever edits ours.
    const ownGauge = join(dir, 'gauge.mjs');
    // The agent's Node may be one that reads no types.
    writeFileSync(
      ownGauge,
      transformSync(readFileSync(gauge, 'utf8'), { loader: 'ts', target: 'node20' }).code,
    );
    const config = join(dir, 'config.json');
    writeFileSync(config, JSON.stringify(this.#configuration(), undefined, 2));
    this.#server = new ServerProcess({
      name: 'the agent',
      program: process.execPath,
      args: [
        // As its own first line has them; that line cannot be used together with more.
        '--min-semi-space-size=4',
        '--max-semi-space-size=8',
        `--import=${ownGauge}`,
        options.program,
        ...this.#arguments(config),
      ],
      logPath: this.logPath,
      isReady: () => answers(`http://${address}:${ports.healthz}/healthz`),
      startTimeoutMs,
      env: { SOAK_GAUGE_SOCKET: this.gaugeSocket },
    });
  }

  get pid(): number | undefined {
    return this.#server.pid;
  }

  get isRunning(): boolean {
    return this.#server.isRunning;
  }

  /** Of the kubelet API, with TLS, open to everybody on loopback. */
  get apiUrl(): string {
    return `https://${address}:${this.#ports.api}`;
  }

  get readOnlyUrl(): string {
    return `http://${address}:${this.#ports.readOnly}`;
  }

  async start(): Promise<void> {
    this.life++;
    await this.#server.start();
    this.isWanted = true;
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    this.isWanted = false;
    await this.#server.end(signal);
  }

  /** The end of what it wrote. */
  logTail(bytes = 4096): string {
    if (!existsSync(this.logPath)) return '';
    const file = openSync(this.logPath, 'r');
    try {
      const { size } = statSync(this.logPath);
      const tail = Buffer.alloc(Math.min(size, bytes));
      readSync(file, tail, 0, tail.length, size - tail.length);
      return tail.toString();
    } finally {
      closeSync(file);
    }
  }

  /** Keeps the log small: the agent appends, so a file that was emptied begins anew. */
  trimLog(): void {
    if (!existsSync(this.logPath) || statSync(this.logPath).size < agentLimits.logBytes) return;
    writeFileSync(`${this.logPath}.1`, this.logTail(agentLimits.keptLogBytes));
    truncateSync(this.logPath, 0);
  }

  #arguments(config: string): string[] {
    const { dir, rootDir, kubeconfig } = this.#options;
    return [
      'agent',
      `--config=${config}`,
      `--root-dir=${rootDir}`,
      `--cert-dir=${join(dir, 'pki')}`,
      `--hostname-override=${nodeName}`,
      `--device-plugin-dir=${join(dir, 'devices')}`,
      `--container-logs-dir=${this.logLinksDir}`,
      ...(kubeconfig === undefined
        ? [`--object-manifest-path=${this.objectsDir}`]
        : [`--kubeconfig=${kubeconfig}`]),
    ];
  }

  #configuration(): object {
    const { containerd } = this.#options;
    const none = '0%';
    return {
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      address,
      port: this.#ports.api,
      readOnlyPort: this.#ports.readOnly,
      healthzPort: this.#ports.healthz,
      healthzBindAddress: address,
      authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
      authorization: { mode: 'AlwaysAllow' },
      containerRuntimeEndpoint: containerd.endpoint,
      cgroupDriver: 'cgroupfs',
      cgroupRoot: containerd.cgroupParent,
      cgroupsPerQOS: true,
      enforceNodeAllocatable: ['pods'],
      failCgroupV1: false,
      failSwapOn: false,
      // Lower than its own, no process may set it here.
      oomScoreAdj: Number(readFileSync('/proc/self/oom_score_adj', 'utf8')),
      staticPodPath: this.manifestsDir,
      podLogsDir: this.podLogsDir,
      volumePluginDir: join(this.#options.dir, 'volume-plugins'),
      makeIPTablesUtilChains: false,
      clusterDomain: 'cluster.local',
      clusterDNS: ['10.96.0.10'],
      syncFrequency: '10s',
      fileCheckFrequency: '2s',
      crashLoopBackOff: { maxContainerRestartPeriod: '4s' },
      // A disk that is full on purpose is to be borne, and machines of tests are full or not.
      evictionHard: {
        'memory.available': none,
        'nodefs.available': none,
        'nodefs.inodesFree': none,
        'imagefs.available': none,
        'imagefs.inodesFree': none,
      },
      imageGCHighThresholdPercent: 100,
      imageGCLowThresholdPercent: 99,
    };
  }

  /** An agent that makes cgroups of pods wants the one above them to be there. */
  #makeCgroup(): void {
    const version = existsSync('/sys/fs/cgroup/cgroup.controllers') ? 2 : 1;
    linuxCgroups({ version, hugePageSizes: [] }).create(this.#options.containerd.cgroupParent);
  }
}

export interface AgentPorts {
  readonly api: number;
  readonly readOnly: number;
  readonly healthz: number;
}

export async function agentPorts(): Promise<AgentPorts> {
  return { api: await freePort(), readOnly: await freePort(), healthz: await freePort() };
}
