/** `nodelet up` as a process that is measured, and a client of its API that costs it as little as a client can. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, type RequestOptions, request } from 'node:https';
import { join } from 'node:path';
import { parse } from 'yaml';
import { systemClock } from '../../src/async/index.js';
import { connectKubeApi, type KubeConnection, loadKubeconfig } from '../../src/kube-client/index.js';
import { freePort } from '../../test/env/addresses.js';
import { pollUntil } from '../../test/env/index.js';
import { processRssBytes, processTreeCpuMs } from '../agent.js';

export interface UpProcessOptions {
  readonly program: string;
  /** For all that it writes. */
  readonly stateDir: string;
  readonly flags: readonly string[];
  readonly agentFlags?: readonly string[];
}

export class UpProcess {
  readonly #options: UpProcessOptions;
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  #log = '';
  #connection: KubeConnection | undefined;

  private constructor(options: UpProcessOptions, ports: readonly number[]) {
    const { program, stateDir, flags, agentFlags = [] } = options;
    this.#options = options;
    const [port, kubeletPort] = ports.map(String);
    const own = ['up', '--state-dir', stateDir, '--port', port ?? '', '--service-cidr', '10.119.0.0/24'];
    const agent = [
      '--port',
      kubeletPort ?? '',
      '--healthz-port=0',
      '--hostname-override=bare',
      ...agentFlags,
    ];
    this.#child = spawn(program, [...own, ...flags, '--', ...agent], { stdio: ['ignore', 'pipe', 'pipe'] });
    this.#ended = once(this.#child, 'close');
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.on('data', (chunk: Buffer) => {
        this.#log = `${this.#log}${chunk.toString()}`.slice(-100_000);
      });
  }

  /** Resolves when the node is ready. */
  static async start(options: UpProcessOptions): Promise<UpProcess> {
    const up = new UpProcess(options, [await freePort(), await freePort()]);
    try {
      await pollUntil('the node is ready', () => up.#isReady(), { timeoutMs: 120_000, detail: () => up.log });
      return up;
    } catch (error) {
      await up.end();
      throw error;
    }
  }

  get log(): string {
    return this.#log.slice(-4_000);
  }

  get kubeconfig(): string {
    return join(this.#options.stateDir, 'kubeconfig');
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get cpuMs(): number {
    return processTreeCpuMs(this.pid);
  }

  get rssBytes(): number {
    return processRssBytes(this.pid);
  }

  async connect(): Promise<KubeConnection> {
    this.#connection ??= connectKubeApi({
      clock: systemClock,
      access: await loadKubeconfig(this.kubeconfig),
      userAgent: 'nodelet-bench',
    });
    return this.#connection;
  }

  async end(): Promise<void> {
    this.#connection?.close();
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill('SIGTERM');
    await this.#ended;
  }

  async #isReady(): Promise<true | undefined> {
    if (this.#child.exitCode !== null) throw new Error(`nodelet up has ended:\n${this.log}`);
    try {
      const { status, body } = await new ApiClient(this.kubeconfig).ask('GET', '/api/v1/nodes/bare');
      if (status !== 200) return undefined;
      const { conditions = [] } = JSON.parse(body).status ?? {};
      const isReady = ({ type, status: is }: { type: string; status: string }): boolean =>
        type === 'Ready' && is === 'True';
      return conditions.some(isReady) ? true : undefined;
    } catch {
      // It does not listen yet, or has not written its kubeconfig.
      return undefined;
    }
  }
}

export interface ApiReply {
  readonly status: number;
  readonly body: string;
}

/** One connection for requests, and one for each watch. */
export class ApiClient {
  readonly #place: RequestOptions;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(kubeconfig: string) {
    const { clusters, users } = parse(readFileSync(kubeconfig, 'utf8'));
    const { hostname, port } = new URL(clusters[0].cluster.server);
    const bytes = (text: string): Buffer => Buffer.from(text, 'base64');
    this.#place = {
      host: hostname,
      port,
      ca: bytes(clusters[0].cluster['certificate-authority-data']),
      cert: bytes(users[0].user['client-certificate-data']),
      key: bytes(users[0].user['client-key-data']),
    };
  }

  close(): void {
    this.#agent.destroy();
  }

  ask(method: string, path: string, object?: unknown, type = 'application/json'): Promise<ApiReply> {
    return new Promise((resolve, reject) => {
      const headers = object === undefined ? {} : { 'content-type': type };
      const asking = request({ ...this.#place, agent: this.#agent, method, path, headers }, (response) => {
        const pieces: Buffer[] = [];
        response.on('data', (piece: Buffer) => pieces.push(piece));
        response.on('error', reject);
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, body: Buffer.concat(pieces).toString() }),
        );
      });
      asking.on('error', reject);
      asking.end(object === undefined ? undefined : JSON.stringify(object));
    });
  }

  /** Throws unless it succeeds. */
  async write(method: string, path: string, object: unknown, type?: string): Promise<void> {
    const { status, body } = await this.ask(method, path, object, type);
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${body.slice(0, 500)}`);
  }

  /** Reads everything and keeps nothing; resolves when the server has begun to answer. */
  watch(path: string): Promise<{ readonly bytes: () => number; readonly stop: () => void }> {
    return new Promise((resolve, reject) => {
      let count = 0;
      const asking = request({ ...this.#place, agent: false, method: 'GET', path }, (response) => {
        if (response.statusCode !== 200) reject(new Error(`${path}: ${response.statusCode}`));
        response.on('data', (piece: Buffer) => {
          count += piece.length;
        });
        response.on('error', () => undefined);
        resolve({ bytes: () => count, stop: () => void asking.destroy() });
      });
      asking.on('error', reject);
      asking.end();
    });
  }
}
