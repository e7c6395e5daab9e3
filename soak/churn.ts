/** Does the steps of a cycle at their moments: pods and objects in order, clients and faults beside them. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Journal } from './journal.js';
import { manifestOf } from './plan/shapes.js';
import type { Cycle, Fault, Step } from './plan/steps.js';
import { visit } from './world/clients.js';
import { suffer } from './world/faults.js';
import type { SoakWorld } from './world/world.js';

/** More clients than these are not started: those before them hang. */
const mostClients = 40;

export class Churn {
  readonly #world: SoakWorld;
  readonly #journal: Journal;
  readonly #clients = new Set<Promise<void>>();
  #faults: Promise<void> = Promise.resolve();

  constructor(world: SoakWorld, journal: Journal) {
    this.#world = world;
    this.#journal = journal;
  }

  /** Returns when the churn of the cycle is over, its clients are gone and what faults stopped runs again. */
  async run({ steps }: Cycle, signal: AbortSignal): Promise<void> {
    const startedMs = performance.now();
    try {
      for (const { atMs, step } of steps) {
        const waitMs = startedMs + atMs - performance.now();
        if (waitMs > 0) await sleep(waitMs, undefined, { signal }).catch(() => undefined);
        if (signal.aborted) break;
        await this.#do(step);
      }
    } finally {
      await this.#faults;
      await Promise.all(this.#clients);
    }
  }

  async #do(step: Step): Promise<void> {
    const { source, shapes } = this.#world;
    this.#journal.count(step.kind);
    switch (step.kind) {
      case 'create':
        return source.create(manifestOf(step.pod, shapes));
      case 'change':
        return source.change(manifestOf(step.pod, shapes));
      case 'delete':
        return source.remove(step.name, step.force);
      case 'resize':
        return source.resize(step.name, step.cpuMillis);
      case 'write-objects':
        return source.writeObjects(step.version);
      case 'client':
        return this.#visit(step);
      case 'fault':
        // One after the other, whatever the time: a runtime that is down is not stopped.
        this.#faults = this.#faults.then(() => this.#suffer(step.fault));
        return;
    }
  }

  #visit(step: Extract<Step, { readonly kind: 'client' }>): void {
    if (this.#clients.size >= mostClients) {
      this.#journal.count('client left out');
      return;
    }
    const { agent, source } = this.#world;
    const visiting = visit(step, agent.apiUrl, source.shownName(step.name))
      .then((isAnswered) => this.#journal.count(`${step.client} ${isAnswered ? 'answered' : 'not answered'}`))
      .finally(() => this.#clients.delete(visiting));
    this.#clients.add(visiting);
  }

  async #suffer(fault: Fault): Promise<void> {
    this.#journal.event(fault.kind);
    this.#journal.count(fault.kind);
    try {
      await suffer(fault, this.#world);
    } catch (error) {
      this.#journal.find(`after ${fault.kind}: ${String(error).slice(0, 2000)}`);
    }
  }
}
