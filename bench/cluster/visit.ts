/** One visit to a fresh node of the cluster: bursts of pods through the API, a rest with them, and their deletion. */
import { mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createGunzip } from 'node:zlib';
import type { Pod } from '../../src/kube/index.js';
import { type KubeApi, resources } from '../../src/kube-client/index.js';
import { type ClusterNode, startClusterNode } from '../../test/env/cluster-node.js';
import type { ControlPlane } from '../../test/env/control-plane.js';
import { CleanupStack, testImages } from '../../test/env/index.js';
import { processRssBytes, processTreeCpuMs } from '../agent.js';
import { median } from '../measure.js';
import { type AuditLog, formatPerPod, podRequests, type RequestCounts } from './audit.js';
import type { Burst, Rest, Round, Scrapes } from './figures.js';
import { PodWatch } from './pod-moments.js';

export const namespace = 'bench';

export interface ClusterGround {
  readonly plane: ControlPlane;
  readonly api: KubeApi;
  readonly audit: AuditLog;
  readonly note: (text: string) => void;
}

/** A program that takes a kubelet's flags. */
export interface Side {
  readonly name: 'nodelet' | 'reference';
  readonly program: string;
}

export interface Load {
  readonly pods: number;
  /** Bursts after one another, each deleted before the next. */
  readonly bursts: number;
  /** After the last burst, memory and time that it needed are given back. */
  readonly settleMs: number;
  readonly restMs: number;
  /** How often the statistics are asked for after that. */
  readonly scrapes: number;
}

/** What tests want sooner, as nodes have it; the programs also say no more than they do unasked. */
const defaults = { syncFrequency: '1m0s', fileCheckFrequency: '20s' };
/** The first pods of a runtime pay for what all later ones find done. */
const warmUpPods = 4;
/** What a kubelet does after its own start should be over before it is measured. */
const startSettleMs = 3_000;
const quietMs = 1_000;
/**
 * What looks at its runtime once a second is found at another moment of that second by each burst: the end of a burst falls
 * on such a look, and bursts that began at the same time after it would all measure the same luck.
 */
const lookPeriodMs = 1_000;
/** Statistics of the same second may be shared. */
const scrapePeriodMs = 1_200;

export async function visit(ground: ClusterGround, side: Side, load: Load, name: string): Promise<Round> {
  const { plane, api } = ground;
  const cleanups = new CleanupStack();
  try {
    const options = { cleanups, plane, name, kubelet: side.program, flags: ['--v=0'], config: defaults };
    const node = await startClusterNode({ ...options, start: false });
    if (side.name === 'reference') linkUsualSocket(ground, node, cleanups);
    await node.start();
    const watch = new PodWatch(api, namespace);
    cleanups.defer('the watch of pods', () => watch.stop());
    await watch.synced();
    await node.ready();
    const bench = new NodeVisit(ground, node, watch);
    cleanups.defer('the scraper', async () => bench.close());
    await bench.create(bench.podNames('warm', warmUpPods));
    await bench.delete(bench.podNames('warm', warmUpPods));
    await sleep(startSettleMs);
    const round = await bench.measure(load);
    // It is asked to end, so that it can still write what it was told to, such as a profile.
    await node.stop();
    return round;
  } finally {
    await cleanups.run();
    await api.delete(resources.nodes, { name });
  }
}

/** Where the reference looks for a containerd that tells it whose containers are; anywhere else they are cgroups without labels. */
const usualSocket = '/run/containerd/containerd.sock';

function linkUsualSocket({ note }: ClusterGround, { containerd }: ClusterNode, cleanups: CleanupStack): void {
  try {
    mkdirSync(dirname(usualSocket), { recursive: true });
    symlinkSync(containerd.endpoint.replace('unix://', ''), usualSocket);
    cleanups.defer('the usual socket', async () => rmSync(usualSocket));
  } catch (error) {
    note(`${usualSocket} is not free (${String(error)}): the reference shows its containers without labels`);
  }
}

interface Phase {
  readonly seconds: readonly number[];
  readonly cpuSeconds: number;
}

class NodeVisit {
  readonly #ground: ClusterGround;
  readonly #node: ClusterNode;
  readonly #watch: PodWatch;
  readonly #scraper: Agent;

  constructor(ground: ClusterGround, node: ClusterNode, watch: PodWatch) {
    this.#ground = ground;
    this.#node = node;
    this.#watch = watch;
    const { pki } = ground.plane;
    const { certificatePem: cert, keyPem: key } = pki.issue({
      subject: { organizations: ['system:masters'], commonName: 'monitoring' },
    });
    // The reference's certificate is its own; whom is asked is known here.
    this.#scraper = new Agent({ keepAlive: true, maxSockets: 1, cert, key, rejectUnauthorized: false });
  }

  close(): void {
    this.#scraper.destroy();
  }

  podNames(burst: string, count: number): string[] {
    return Array.from({ length: count }, (_, index) => `${this.#node.name}-${burst}-${index}`);
  }

  async measure({ pods, bursts, settleMs, restMs, scrapes: scrapeCount }: Load): Promise<Round> {
    const done: Burst[] = [];
    const requests = { start: 0, delete: 0 };
    let rest: Rest | undefined;
    let scrapes: Scrapes | undefined;
    for (let index = 0; index < bursts; index++) {
      const isLast = index === bursts - 1;
      const names = this.podNames(String(index), pods);
      const created = await this.#counted(
        () => this.create(names),
        () => sleep(isLast ? settleMs : quietMs + (lookPeriodMs * index) / bursts),
      );
      if (isLast) {
        rest = await this.#rest(restMs);
        scrapes = await this.#scrapes(scrapeCount, rest);
      }
      const deleted = await this.#counted(
        () => this.delete(names),
        () => sleep(quietMs + (lookPeriodMs * (index + 1)) / bursts),
      );
      requests.start += podRequests(created.requests);
      requests.delete += podRequests(deleted.requests);
      if (isLast) this.#tell(pods, created.requests, deleted.requests);
      done.push({
        readySeconds: created.phase.seconds,
        goneSeconds: deleted.phase.seconds,
        cpuToStartSeconds: created.phase.cpuSeconds,
        cpuToDeleteSeconds: deleted.phase.cpuSeconds,
      });
    }
    if (rest === undefined || scrapes === undefined) throw new Error('a load has at least one burst');
    const all = bursts * pods;
    return {
      bursts: done,
      rest,
      scrapes,
      requestsPerPod: { start: requests.start / all, delete: requests.delete / all },
    };
  }

  create(names: readonly string[]): Promise<Phase> {
    const { api } = this.#ground;
    return this.#phase(
      () => Promise.all(names.map((name) => api.create(resources.pods, idlePod(name, this.#node.name)))),
      () => this.#watch.allReady(names, () => this.#problems()),
    );
  }

  delete(names: readonly string[]): Promise<Phase> {
    const { api } = this.#ground;
    return this.#phase(
      () => Promise.all(names.map((name) => api.delete(resources.pods, { namespace, name }))),
      () => this.#watch.allGone(names, () => this.#problems()),
    );
  }

  /** Every moment counts from the one before the first request. */
  async #phase(ask: () => Promise<unknown>, seen: () => Promise<number[]>): Promise<Phase> {
    const { pid } = this;
    const cpuBeforeMs = processTreeCpuMs(pid);
    const startMs = performance.now();
    await ask();
    const moments = await seen();
    const cpuSeconds = (processTreeCpuMs(pid) - cpuBeforeMs) / 1000;
    return { seconds: moments.map((ms) => (ms - startMs) / 1000), cpuSeconds };
  }

  /** With all that was asked of the API for it, what came after it is over included. */
  async #counted(
    phase: () => Promise<Phase>,
    settle: () => Promise<unknown>,
  ): Promise<{ readonly phase: Phase; readonly requests: RequestCounts }> {
    const { audit } = this.#ground;
    const mark = audit.mark();
    const done = await phase();
    await settle();
    return { phase: done, requests: audit.since(mark, `system:node:${this.#node.name}`) };
  }

  async #rest(restMs: number): Promise<Rest> {
    const { pid } = this;
    const megabytes: number[] = [];
    const cpuBeforeMs = processTreeCpuMs(pid);
    const startMs = performance.now();
    while (performance.now() - startMs < restMs) {
      await sleep(1_000);
      megabytes.push(processRssBytes(pid) / 1e6);
    }
    const cpuPercent = (100 * (processTreeCpuMs(pid) - cpuBeforeMs)) / (performance.now() - startMs);
    return { cpuPercent, rssMegabytes: median(megabytes) };
  }

  async #scrapes(count: number, { cpuPercent }: Rest): Promise<Scrapes> {
    const { pid } = this;
    // The first one finds nothing prepared.
    await this.#scrape();
    await sleep(scrapePeriodMs);
    const cpuBeforeMs = processTreeCpuMs(pid);
    const startMs = performance.now();
    let bytes = 0;
    for (let scrape = 0; scrape < count; scrape++) {
      bytes = await this.#scrape();
      await sleep(scrapePeriodMs);
    }
    const restMs = (cpuPercent / 100) * (performance.now() - startMs);
    const cpuMs = processTreeCpuMs(pid) - cpuBeforeMs - restMs;
    return { cpuMilliseconds: cpuMs / count, kilobytes: bytes / 1000 };
  }

  /** As a monitoring server does: on a connection that stays, compressed. Returns the size of the text. */
  #scrape(): Promise<number> {
    const { address: host, port } = this.#node;
    return new Promise((resolve, reject) => {
      const asking = request(
        {
          host,
          port,
          path: '/metrics/cadvisor',
          agent: this.#scraper,
          headers: { 'accept-encoding': 'gzip' },
        },
        (response) => {
          let bytes = 0;
          const text =
            response.headers['content-encoding'] === 'gzip' ? response.pipe(createGunzip()) : response;
          text.on('data', (chunk: Buffer) => {
            bytes += chunk.length;
          });
          text.on('error', reject);
          text.on('end', () => {
            if (response.statusCode === 200) resolve(bytes);
            else reject(new Error(`a scrape was answered with ${response.statusCode}`));
          });
        },
      );
      asking.on('error', reject);
      asking.end();
    });
  }

  get pid(): number {
    const { pid } = this.#node;
    if (pid === undefined)
      throw new Error(`the kubelet of ${this.#node.name} has ended:\n${this.#problems()}`);
    return pid;
  }

  #tell(pods: number, start: RequestCounts, end: RequestCounts): void {
    const { note } = this.#ground;
    note(`${this.#node.name} asks per pod to start: ${formatPerPod(start, pods)}`);
    note(`${this.#node.name} asks per pod to delete: ${formatPerPod(end, pods)}`);
  }

  #problems(): string {
    return this.#node.log.slice(-4000);
  }
}

/** One container that ends as soon as it is told to, on a node that was chosen already. */
function idlePod(name: string, nodeName: string): Pod {
  return {
    metadata: { uid: 'u', name, namespace },
    spec: {
      nodeName,
      containers: [{ name: 'main', image: testImages.pause, imagePullPolicy: 'IfNotPresent' }],
    },
  };
}
