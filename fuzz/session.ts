/** Runs one target after another in a thread, and judges inputs that hang or fill the memory. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { inputOf } from './mutate.js';
import { targetOf } from './targets.js';
import type { Report, Task } from './worker.js';

/** An input may take so much time of the processor: the machine may be busy, so that no clock on the wall tells. */
const hangCpuMs = 1_000;
/** One that only waits may take longer. */
const hangWallMs = 20_000;
const lookMs = 100;
/** What the program and its targets need, and 64 MiB for the input. */
const heapLimitMb = 64 + 128;

export class Session {
  #worker: Worker | undefined;
  #progress = new Float64Array(new SharedArrayBuffer(8));

  /** Loading the targets takes a while, which is no target's. */
  async start(): Promise<Worker> {
    if (this.#worker !== undefined) return this.#worker;
    const worker = this.#create();
    await once(worker, 'message');
    this.#worker = worker;
    return worker;
  }

  async run(task: Task): Promise<Report> {
    const worker = await this.start();
    const watch = this.#watch();
    return new Promise<Report>((resolve) => {
      const end = (report: Report): void => {
        clearInterval(timer);
        worker.off('message', end);
        worker.off('error', onError);
        resolve(report);
      };
      const broken = (why: string): void => {
        this.#worker = undefined;
        void worker.terminate();
        end({ inputs: 0, failure: this.#failure(task, why) });
      };
      const onError = (error: unknown): void =>
        broken(error instanceof Error ? (error.stack ?? error.message) : String(error));
      const timer = setInterval(() => {
        const why = watch();
        if (why !== undefined) broken(why);
      }, lookMs);
      worker.on('message', end);
      worker.on('error', onError);
      worker.postMessage(task);
    });
  }

  async close(): Promise<void> {
    await this.#worker?.terminate();
  }

  #create(): Worker {
    this.#progress = new Float64Array(new SharedArrayBuffer(8));
    this.#progress[0] = -1;
    // A thread does not inherit the loader that lets Node read TypeScript.
    const worker = new URL('./worker.ts', import.meta.url).href;
    const start = `import('tsx/esm/api').then(({ register }) => { register(); return import('${worker}'); })`;
    return new Worker(start, {
      eval: true,
      workerData: this.#progress.buffer,
      resourceLimits: { maxOldGenerationSizeMb: heapLimitMb },
    });
  }

  /** Says when the same input has been under way for too long. */
  #watch(): () => string | undefined {
    let number = Number.NaN;
    let cpu = process.cpuUsage();
    let since = performance.now();
    return () => {
      const now = this.#progress[0] ?? 0;
      if (now !== number) {
        number = now;
        cpu = process.cpuUsage();
        since = performance.now();
        return undefined;
      }
      // Below zero it starts, ends or shortens a failing input, each of which may take a while.
      if (number === -1 || number === -3)
        return performance.now() - since > 3 * hangWallMs ? 'it does not end' : undefined;
      const { user, system } = process.cpuUsage(cpu);
      const cpuMs = (user + system) / 1000;
      if (cpuMs > hangCpuMs)
        return `it hangs: more than ${Math.floor(cpuMs)} ms of the processor for one input`;
      return performance.now() - since > hangWallMs ? `it hangs: nothing for ${hangWallMs} ms` : undefined;
    };
  }

  #failure(task: Task, why: string): Report['failure'] {
    const number = this.#progress[0] ?? -1;
    if (task.replay !== undefined) return { why, input: task.replay };
    if (number < 0) return { why, input: Buffer.alloc(0) };
    return { why, input: inputOf(targetOf(task.target), task.seed, number), number };
  }
}
