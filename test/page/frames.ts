/** What a page costs its browser while it is looked at: frames and long tasks by the page's own clock, and work by the browser's counters. */
import type { CDPSession, Page } from 'playwright-core';

export interface Frames {
  /** From each frame to the next one. */
  readonly intervalsMs: readonly number[];
  /** Tasks of more than 50 ms, which hold up clicks and keys. */
  readonly longTasksMs: readonly number[];
}

/** Watches the page for so long. */
export async function recordFrames(page: Page, forMs: number): Promise<Frames> {
  // The script below returns this shape.
  return (await page.evaluate(`new Promise((resolve) => {
    const longTasksMs = [];
    const watcher = new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) longTasksMs.push(duration);
    });
    watcher.observe({ type: 'longtask' });
    const intervalsMs = [];
    let firstMs, lastMs;
    const frame = (nowMs) => {
      firstMs ??= nowMs;
      if (lastMs !== undefined) intervalsMs.push(nowMs - lastMs);
      lastMs = nowMs;
      if (nowMs - firstMs < ${forMs}) return void requestAnimationFrame(frame);
      watcher.disconnect();
      resolve({ intervalsMs, longTasksMs });
    };
    requestAnimationFrame(frame);
  })`)) as Frames;
}

/** What the browser's main thread did, in time of the processor and in counts. */
export interface BrowserWork {
  readonly scriptMs: number;
  readonly layoutMs: number;
  readonly styleMs: number;
  readonly taskMs: number;
  readonly layouts: number;
}

export class WorkCounter {
  readonly #session: CDPSession;
  #before: BrowserWork | undefined;

  private constructor(session: CDPSession) {
    this.#session = session;
  }

  static async of(page: Page): Promise<WorkCounter> {
    const session = await page.context().newCDPSession(page);
    // Time of other programs on the machine is not the page's.
    await session.send('Performance.enable', { timeDomain: 'threadTicks' });
    return new WorkCounter(session);
  }

  async begin(): Promise<void> {
    this.#before = await this.#read();
  }

  /** Since the last `begin`. */
  async end(): Promise<BrowserWork> {
    const after = await this.#read();
    const before = this.#before ?? after;
    return {
      scriptMs: after.scriptMs - before.scriptMs,
      layoutMs: after.layoutMs - before.layoutMs,
      styleMs: after.styleMs - before.styleMs,
      taskMs: after.taskMs - before.taskMs,
      layouts: after.layouts - before.layouts,
    };
  }

  async #read(): Promise<BrowserWork> {
    const { metrics } = await this.#session.send('Performance.getMetrics');
    const of = (name: string): number => metrics.find((one) => one.name === name)?.value ?? 0;
    return {
      scriptMs: of('ScriptDuration') * 1000,
      layoutMs: of('LayoutDuration') * 1000,
      styleMs: of('RecalcStyleDuration') * 1000,
      taskMs: of('TaskDuration') * 1000,
      layouts: of('LayoutCount'),
    };
  }
}
