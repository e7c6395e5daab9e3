/** Does to the agent, the runtime, the disk and the line to the API what the plan says, and takes it back. */
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CuttableLine, LineTrouble, TestContainerd } from '../../test/env/index.js';
import { signalProcess } from '../../test/env/processes.js';
import type { ApiTrouble, Fault } from '../plan/steps.js';
import type { SoakAgent } from './agent.js';

export interface FaultGround {
  readonly agent: SoakAgent;
  readonly containerd: TestContainerd;
  /** Between the agent and its API server; none without a cluster. */
  readonly line: CuttableLine | undefined;
}

/** An agent that does not end in 20 s is killed, which must not go unseen. */
const longestStopMs = 15_000;

/** Returns when the fault is over and what it stopped runs again. */
export async function suffer(fault: Fault, { agent, containerd, line }: FaultGround): Promise<void> {
  switch (fault.kind) {
    case 'kill-agent':
      await agent.end('SIGKILL');
      await sleep(fault.downMs);
      await agent.start();
      return;
    case 'stop-agent': {
      const startedMs = performance.now();
      await agent.end('SIGTERM');
      const tookMs = performance.now() - startedMs;
      await sleep(fault.downMs);
      await agent.start();
      if (tookMs > longestStopMs)
        throw new Error(`the agent took ${Math.round(tookMs)} ms to end after SIGTERM`);
      return;
    }
    case 'kill-runtime':
      await containerd.kill();
      await sleep(fault.downMs);
      await containerd.start();
      return;
    case 'freeze-runtime': {
      const { pid } = containerd;
      if (pid === undefined) return;
      signalProcess(pid, 'SIGSTOP');
      try {
        await sleep(fault.forMs);
      } finally {
        signalProcess(pid, 'SIGCONT');
      }
      return;
    }
    case 'fill-disk': {
      const filler = join(agent.rootDir, 'filler');
      try {
        await fill(filler);
        await sleep(fault.forMs);
      } finally {
        await rm(filler, { force: true });
      }
      return;
    }
    case 'cut-api':
      if (line === undefined) return;
      await cut(line, fault.trouble, fault.forMs);
      return;
  }
}

/** Takes all the room that is left on a disk, down to the last byte. */
async function fill(path: string): Promise<void> {
  const file = await open(path, 'a');
  try {
    for (let bytes = 1024 * 1024; bytes >= 1; bytes = Math.floor(bytes / 8)) {
      try {
        for (;;) await file.write(Buffer.alloc(bytes));
      } catch (error) {
        if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
      }
    }
  } finally {
    await file.close();
  }
}

async function cut(line: CuttableLine, trouble: ApiTrouble, forMs: number): Promise<void> {
  try {
    if (trouble === 'refuse' || trouble === 'reset') line.reset();
    if (trouble !== 'reset') await line.set(lineTrouble(trouble));
    await sleep(forMs);
  } finally {
    await line.set({ kind: 'none' });
    // What was silent stays so, and a client could wait for it for as long as it likes.
    if (trouble === 'black-hole') line.reset();
  }
}

function lineTrouble(trouble: Exclude<ApiTrouble, 'reset'>): LineTrouble {
  switch (trouble) {
    case 'refuse':
    case 'black-hole':
      return { kind: trouble };
    case 'cut-answers':
      return { kind: 'cut-answers', afterBytes: 2_000 };
    case 'delay':
      return { kind: 'delay', delayMs: 400 };
  }
}
