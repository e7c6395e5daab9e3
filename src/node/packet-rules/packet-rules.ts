/** Keeps the node's helper chains in the packet filter, even after someone flushes the tables. */
import { type Clock, errorText, isCancelled, sleep, withTimeout } from '../../async/index.js';
import type { CommandLine } from '../../programs/index.js';
import type { Timeline } from '../../timeline/index.js';
import {
  type AddressFamily,
  addressFamilies,
  canaryCommand,
  canarySteps,
  canaryTables,
  chainPresence,
  chainProblem,
  checkCommand,
  failureText,
  helperSteps,
  makeCommand,
  type PacketCommandOutcome,
  type PacketStep,
  type PacketTable,
  programOf,
  type RulePresence,
  rulePresence,
  supportCommand,
} from './plan.js';

/** Runs a program to its end; rejects only if it cannot be run at all. */
export type RunPacketCommand = (command: CommandLine, signal: AbortSignal) => Promise<PacketCommandOutcome>;

export interface PacketRulesOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly run: RunPacketCommand;
}

const lookPeriodMs = 60_000;
/** Lets a flush finish, so that it does not remove the new chains again. */
const flushEndMs = 5_000;
const flushLookMs = 100;
/** Well beyond the time a command waits for the table lock. */
export const commandLimitMs = 30_000;

type Canary = { readonly kind: 'sings' | 'gone' } | { readonly kind: 'unknown'; readonly problem: string };

export class PacketRules {
  readonly #options: PacketRulesOptions;
  /** The current problem of each family, reported once. */
  readonly #problems = new Map<AddressFamily, string>();

  constructor(options: PacketRulesOptions) {
    this.#options = options;
  }

  /** Runs until the signal aborts; returns at once on a machine without iptables. */
  async run(signal: AbortSignal): Promise<void> {
    const supported: AddressFamily[] = [];
    for (const family of addressFamilies) if (await this.#supports(family, signal)) supported.push(family);
    if (supported.length === 0) {
      this.#options.timeline.record({
        kind: 'notice',
        what: 'node.packet-rules',
        message: 'No iptables support on this system; not creating the KUBE-IPTABLES-HINT chain',
      });
      return;
    }
    await Promise.all(supported.map((family) => this.#keep(family, signal)));
  }

  async #supports(family: AddressFamily, signal: AbortSignal): Promise<boolean> {
    try {
      return (await this.#run(supportCommand(family), signal)).code === 0;
    } catch (error) {
      if (isCancelled(error)) throw error;
      // Most machines without support lack the program.
      return false;
    }
  }

  async #keep(family: AddressFamily, signal: AbortSignal): Promise<void> {
    for (let because = 'the node starts'; ; ) {
      if (await this.#ensureAll(family, because, signal)) {
        await this.#awaitFlush(family, signal);
        because = 'somebody flushed the tables';
      } else {
        await sleep(this.#options.clock, lookPeriodMs, signal);
        because = 'the last try failed';
      }
    }
  }

  async #awaitFlush(family: AddressFamily, signal: AbortSignal): Promise<void> {
    for (;;) {
      await sleep(this.#options.clock, lookPeriodMs, signal);
      const canary = await this.#look(family, signal);
      switch (canary.kind) {
        case 'sings':
          this.#problems.delete(family);
          break;
        case 'unknown':
          this.#failed(family, canary.problem);
          break;
        case 'gone':
          return this.#awaitFlushEnd(family, signal);
      }
    }
  }

  /** Returns whether everything is in place. */
  async #ensureAll(family: AddressFamily, because: string, signal: AbortSignal): Promise<boolean> {
    for (const step of [...helperSteps(family), ...canarySteps()]) {
      let problem: string | undefined;
      try {
        problem = await this.#ensure(family, step, signal);
      } catch (error) {
        if (isCancelled(error)) throw error;
        problem = errorText(error);
      }
      if (problem !== undefined) {
        this.#failed(family, problem);
        return false;
      }
    }
    this.#problems.delete(family);
    this.#options.timeline.record({
      kind: 'effect',
      what: 'node.packet-rules',
      message: `the node's chains are in ${programOf(family)}`,
      because,
    });
    return true;
  }

  /** Returns what went wrong. */
  async #ensure(family: AddressFamily, step: PacketStep, signal: AbortSignal): Promise<string | undefined> {
    const check = checkCommand(family, step);
    if (check !== undefined) {
      const checked = await this.#run(check, signal);
      const presence = rulePresence(checked);
      if (presence === 'there') return undefined;
      if (presence === 'unknown') return failureText(check, checked);
    }
    const make = makeCommand(family, step);
    const made = await this.#run(make, signal);
    if (step.kind === 'chain') return chainProblem(make, made);
    return made.code === 0 ? undefined : failureText(make, made);
  }

  async #look(family: AddressFamily, signal: AbortSignal): Promise<Canary> {
    const asked = canaryCommand(family, canaryTables[0]);
    try {
      const outcome = await this.#run(asked, signal);
      const presence = chainPresence(outcome);
      if (presence === 'unknown') return { kind: 'unknown', problem: failureText(asked, outcome) };
      return { kind: presence === 'there' ? 'sings' : 'gone' };
    } catch (error) {
      if (isCancelled(error)) throw error;
      return { kind: 'unknown', problem: errorText(error) };
    }
  }

  async #awaitFlushEnd(family: AddressFamily, signal: AbortSignal): Promise<void> {
    const { clock, timeline } = this.#options;
    const endMs = clock.monotonic() + flushEndMs;
    for (;;) {
      const left: PacketTable[] = [];
      for (const table of canaryTables.slice(1)) {
        if ((await this.#presence(canaryCommand(family, table), signal)) !== 'missing') left.push(table);
      }
      if (left.length === 0) return;
      if (clock.monotonic() >= endMs) {
        timeline.record({
          kind: 'observation',
          what: 'node.packet-rules',
          message: `${programOf(family)} was flushed in part: ${left.join(' and ')} still have their chain`,
        });
        return;
      }
      await sleep(clock, flushLookMs, signal);
    }
  }

  async #presence(asked: CommandLine, signal: AbortSignal): Promise<RulePresence> {
    try {
      return chainPresence(await this.#run(asked, signal));
    } catch (error) {
      if (isCancelled(error)) throw error;
      return 'unknown';
    }
  }

  async #run(asked: CommandLine, signal: AbortSignal): Promise<PacketCommandOutcome> {
    const { clock, run } = this.#options;
    try {
      return await withTimeout(clock, commandLimitMs, signal, (limited) => run(asked, limited));
    } catch (error) {
      if (isCancelled(error)) throw error;
      throw new Error(`${asked}: ${errorText(error)}`, { cause: error });
    }
  }

  #failed(family: AddressFamily, problem: string): void {
    if (this.#problems.get(family) === problem) return;
    this.#problems.set(family, problem);
    this.#options.timeline.record({
      kind: 'problem',
      what: 'node.packet-rules',
      message: `the node's chains may be missing in ${programOf(family)}: ${problem}`,
      because: `checked again in ${lookPeriodMs / 1000}s`,
    });
  }
}
