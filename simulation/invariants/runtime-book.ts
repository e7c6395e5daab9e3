/** Remembers what the runtime ever had, and judges each change of it at the moment when it happens. */
import type { SimContainer, SimObserver, SimSandbox } from '../../src/runtimes/sim/index.js';
import type { Report } from './violation.js';

export interface KnownContainer {
  readonly id: string;
  readonly podUid: string;
  readonly name: string;
  state: SimContainer['state']['kind'];
  everRan: boolean;
  exitCode: number | undefined;
  /** When it was first asked to end. */
  termAtMs: number | undefined;
  /** A call that was to ask it never came. */
  couldNotStop: boolean;
  /** Someone else than the kubelet made it. */
  readonly isStranger: boolean;
}

export interface RuntimeBookOptions {
  readonly nowMs: () => number;
  readonly report: Report;
  /** The shortest grace that somebody gave the pod; undefined when nobody knows. */
  readonly graceSeconds: (podUid: string) => number | undefined;
  /** Whether the pod has ended for ever. */
  readonly isOver: (podUid: string) => string | undefined;
  readonly isStranger: (container: SimContainer) => boolean;
}

/** A container that was asked to end during its preStop hook has this long at least. */
const slackMs = 1_000;

const leastGraceSeconds = 2;
export const sidecarName = 'setup';

export class RuntimeBook implements SimObserver {
  readonly containers = new Map<string, KnownContainer>();
  readonly #options: RuntimeBookOptions;
  /** By pod and name. */
  readonly #running = new Map<string, Set<string>>();
  readonly #ready = new Map<string, Set<string>>();
  /** The world ends processes itself: a reboot, a lost container. */
  isOutside = false;

  constructor(options: RuntimeBookOptions) {
    this.#options = options;
  }

  container(container: SimContainer): void {
    const { id, state } = container;
    const known = this.#known(container);
    const was = known.state;
    known.state = state.kind;
    const key = `${known.podUid}/${known.name}`;
    if (state.kind === 'running') {
      known.everRan = true;
      this.#judgeStart(known);
      const running = this.#running.get(key);
      if (running === undefined) this.#running.set(key, new Set([id]));
      else {
        running.add(id);
        if (!known.isStranger)
          this.#options.report(
            'nothing runs twice',
            `container ${key} runs ${running.size} times: ${[...running].map(short).join(', ')}`,
          );
      }
    } else if (was === 'running') {
      const running = this.#running.get(key);
      running?.delete(id);
      if (running?.size === 0) this.#running.delete(key);
    }
    if (state.kind === 'exited') known.exitCode = state.exitCode;
  }

  signal(container: SimContainer, signal: 'TERM' | 'KILL'): void {
    const known = this.#known(container);
    const { nowMs, graceSeconds, report } = this.#options;
    if (signal === 'TERM') {
      known.termAtMs ??= nowMs();
      return;
    }
    // As the reference kubelet does, nodelet then ends it with its sandbox.
    if (this.isOutside || known.isStranger || known.couldNotStop) return;
    const given = graceSeconds(known.podUid);
    if (given === undefined || given === 0) return;
    // Sidecars end after the others, with what these left of the pod's grace.
    const wanted = known.name === sidecarName ? Math.min(given, leastGraceSeconds) : given;
    const hadMs = known.termAtMs === undefined ? 0 : nowMs() - known.termAtMs;
    if (hadMs + slackMs < wanted * 1000)
      report(
        'the grace period is honoured',
        `container ${known.podUid}/${known.name} ${short(known.id)} was killed ${known.termAtMs === undefined ? 'without being asked to end' : `${hadMs} ms after it was asked to end`}; its grace is ${wanted} s`,
      );
  }

  couldNotStop(id: string): void {
    const known = this.containers.get(id);
    if (known !== undefined) known.couldNotStop = true;
  }

  sandbox(sandbox: SimSandbox): void {
    const uid = sandbox.config.metadata?.uid ?? '';
    const ready = this.#ready.get(uid) ?? new Set<string>();
    if (sandbox.ready) ready.add(sandbox.id);
    else ready.delete(sandbox.id);
    if (ready.size === 0) this.#ready.delete(uid);
    else this.#ready.set(uid, ready);
    if (sandbox.ready && ready.size > 1)
      this.#options.report(
        'nothing runs twice',
        `pod ${uid} has ${ready.size} ready sandboxes: ${[...ready].map(short).join(', ')}`,
      );
  }

  /** The containers of a pod that run now. */
  runningOf(podUid: string): KnownContainer[] {
    return [...this.#running.entries()]
      .filter(([key]) => key.startsWith(`${podUid}/`))
      .flatMap(([, ids]) => [...ids].flatMap((id) => this.containers.get(id) ?? []));
  }

  get runningPods(): ReadonlySet<string> {
    return new Set([...this.#running.keys()].map((key) => key.slice(0, key.indexOf('/'))));
  }

  #judgeStart(known: KnownContainer): void {
    const over = this.#options.isOver(known.podUid);
    if (over !== undefined && !known.isStranger)
      this.#options.report(
        'a pod that is over never runs again',
        `container ${known.podUid}/${known.name} started although ${over}`,
      );
  }

  #known(container: SimContainer): KnownContainer {
    const found = this.containers.get(container.id);
    if (found !== undefined) return found;
    const known: KnownContainer = {
      id: container.id,
      podUid: container.sandbox.config.metadata?.uid ?? '',
      name: container.config.metadata?.name ?? '',
      state: 'created',
      everRan: false,
      exitCode: undefined,
      termAtMs: undefined,
      couldNotStop: false,
      isStranger: this.#options.isStranger(container),
    };
    this.containers.set(container.id, known);
    return known;
  }
}

export function short(id: string): string {
  return id.slice(0, 8);
}
