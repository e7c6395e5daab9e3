/** What the node and its pods use: asked for while somebody looks, and kept as long as a plot is wide. */
import type { PodStatsSummary, Summary } from '../../src/resources/stats/summary-types.js';
import { Cell } from '../cell.js';
import { askJson } from './ask.js';

export interface UsageSample {
  readonly timeMs: number;
  readonly cpuCores: number | undefined;
  readonly memoryBytes: number | undefined;
}

const periodMs = 3_000;
/** Ten minutes. */
const mostSamples = 200;
/** Of those that are gone the history goes, too. */
const mostHistories = 2_000;

export class UsageHistory {
  readonly latest = new Cell<Summary | undefined>(undefined);
  /** Why there are no figures now. */
  readonly problem = new Cell<string | undefined>(undefined);
  readonly #histories = new Map<string, UsageSample[]>();
  readonly #over = new AbortController();

  constructor() {
    void this.#run();
  }

  close(): void {
    this.#over.abort();
  }

  ofNode(): readonly UsageSample[] {
    return this.#histories.get('node') ?? [];
  }

  ofPod(uid: string): readonly UsageSample[] {
    return this.#histories.get(`pod ${uid}`) ?? [];
  }

  ofContainer(uid: string, container: string): readonly UsageSample[] {
    return this.#histories.get(`container ${uid} ${container}`) ?? [];
  }

  now(uid: string): PodStatsSummary | undefined {
    return this.latest.value?.pods.find(({ podRef }) => podRef.uid === uid);
  }

  async #run(): Promise<void> {
    while (!this.#over.signal.aborted) {
      if (document.visibilityState !== 'hidden') await this.#read();
      await new Promise((resolve) => setTimeout(resolve, periodMs));
    }
  }

  async #read(): Promise<void> {
    try {
      const summary = await askJson<Summary>('/stats/summary', this.#over.signal);
      const timeMs = Date.now();
      this.#add('node', timeMs, summary.node);
      for (const pod of summary.pods) {
        this.#add(`pod ${pod.podRef.uid}`, timeMs, pod);
        for (const container of pod.containers)
          this.#add(`container ${pod.podRef.uid} ${container.name}`, timeMs, container);
      }
      this.problem.set(undefined);
      this.latest.set(summary);
    } catch (error) {
      if (!this.#over.signal.aborted)
        this.problem.set(error instanceof Error ? error.message : String(error));
    }
  }

  #add(key: string, timeMs: number, { cpu, memory }: Pick<PodStatsSummary, 'cpu' | 'memory'>): void {
    const history = this.#histories.get(key) ?? [];
    history.push({
      timeMs,
      cpuCores: cpu?.usageNanoCores === undefined ? undefined : cpu.usageNanoCores / 1e9,
      memoryBytes: memory?.workingSetBytes,
    });
    if (history.length > mostSamples) history.shift();
    this.#histories.delete(key);
    this.#histories.set(key, history);
    for (const oldest of this.#histories.keys()) {
      if (this.#histories.size <= mostHistories) return;
      this.#histories.delete(oldest);
    }
  }
}
