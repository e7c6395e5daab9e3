/** The drivers that are registered on this node: their endpoints, and which of them are connected. */
import { type Clock, sleep, TaskGroup, WakeableSleep } from '../../async/index.js';
import type { DriverConnection, OpenDriver } from './contracts.js';
import { draLimits } from './limits.js';
import type { HealthMethod, PrepareService } from './services.js';

export interface DriverEndpoint {
  readonly driver: string;
  readonly endpoint: string;
  readonly connection: DriverConnection;
  readonly prepare: PrepareService;
  readonly isConnected: boolean;
}

export interface NewEndpoint {
  readonly driver: string;
  readonly endpoint: string;
  readonly prepare: PrepareService;
  readonly health: HealthMethod | undefined;
  /** What registered it; nothing else may take it away. */
  readonly owner: object;
}

export interface DraDriversOptions {
  readonly clock: Clock;
  readonly open: OpenDriver;
  readonly random: () => number;
  /** A driver can be called, or cannot any more. */
  readonly onUsable: (driver: string, isUsable: boolean) => void;
  /** Runs while the endpoint is registered. */
  readonly watchHealth: (
    endpoint: DriverEndpoint,
    method: HealthMethod,
    signal: AbortSignal,
  ) => Promise<void>;
  readonly onError: (task: string, error: unknown) => void;
}

interface HeldEndpoint extends DriverEndpoint {
  isConnected: boolean;
  /** Whether it has been connected since it was last dialled. */
  wasConnected: boolean;
  readonly owner: object;
  readonly tasks: TaskGroup;
}

/** The pauses of gRPC between attempts to connect. */
const firstRedialMs = 1_000;
const redialFactor = 1.6;
const longestRedialMs = 120_000;

export class DraDrivers {
  readonly #options: DraDriversOptions;
  /** Oldest endpoint first. */
  readonly #drivers = new Map<string, HeldEndpoint[]>();

  constructor(options: DraDriversOptions) {
    this.#options = options;
  }

  /** Newest connected endpoint first. Throws with the reason that users see. */
  pick(driver: string): DriverEndpoint {
    if (driver === '') throw new Error('DRA driver name is empty');
    const endpoints = this.#drivers.get(driver) ?? [];
    const chosen = endpoints.findLast(({ isConnected }) => isConnected) ?? endpoints.at(-1);
    if (chosen === undefined) throw new Error(`DRA driver ${driver} is not registered`);
    return chosen;
  }

  isRegistered(driver: string): boolean {
    return this.#drivers.has(driver);
  }

  isConnected(driver: string): boolean {
    return (this.#drivers.get(driver) ?? []).some(({ isConnected }) => isConnected);
  }

  list(): readonly DriverEndpoint[] {
    return [...this.#drivers.values()].flat();
  }

  /** Does not wait for the connection. Throws for an endpoint that the driver has already. */
  add({ driver, endpoint, prepare, health, owner }: NewEndpoint): void {
    const known = this.#drivers.get(driver) ?? [];
    if (known.some((each) => each.endpoint === endpoint)) {
      throw new Error(`endpoint ${endpoint} already registered for DRA driver plugin ${driver}`);
    }
    if (known.length >= draLimits.endpoints) {
      throw new Error(`DRA driver plugin ${driver} has ${draLimits.endpoints} endpoints already`);
    }
    const redial = new WakeableSleep();
    const connection = this.#options.open(endpoint, {
      onReady: () => this.#connected(held, true),
      onLost: () => {
        this.#connected(held, false);
        redial.wake();
      },
    });
    const tasks = new TaskGroup({ onError: this.#options.onError });
    const state = { isConnected: false, wasConnected: false };
    const held: HeldEndpoint = { driver, endpoint, connection, prepare, ...state, owner, tasks };
    this.#drivers.set(driver, [...known, held]);
    if (!this.isConnected(driver)) this.#options.onUsable(driver, false);
    tasks.start(`the connection to ${endpoint}`, (signal) => this.#keepConnected(held, redial, signal));
    if (health !== undefined) {
      tasks.start(`the health of ${driver}`, (signal) => this.#options.watchHealth(held, health, signal));
    }
  }

  /** Takes away what the owner registered; what another one registered since stays. */
  async remove(driver: string, endpoint: string, owner: object): Promise<void> {
    const known = this.#drivers.get(driver) ?? [];
    const held = known.find((each) => each.endpoint === endpoint && each.owner === owner);
    if (held === undefined) return;
    const left = known.filter((each) => each !== held);
    if (left.length === 0) this.#drivers.delete(driver);
    else this.#drivers.set(driver, left);
    if (!this.isConnected(driver)) this.#options.onUsable(driver, false);
    held.connection.close();
    await held.tasks.stop();
  }

  async stop(): Promise<void> {
    const all = [...this.#drivers.values()].flat();
    this.#drivers.clear();
    for (const { connection } of all) connection.close();
    await Promise.all(all.map(({ tasks }) => tasks.stop()));
  }

  #connected(held: HeldEndpoint, isConnected: boolean): void {
    const isHeld = (this.#drivers.get(held.driver) ?? []).includes(held);
    if (held.isConnected === isConnected || !isHeld) return;
    const wasUsable = this.isConnected(held.driver);
    held.isConnected = isConnected;
    held.wasConnected ||= isConnected;
    const isUsable = this.isConnected(held.driver);
    if (wasUsable !== isUsable) this.#options.onUsable(held.driver, isUsable);
  }

  /** Dials at once after a loss, then with growing pauses. A call in between dials, too. */
  async #keepConnected(held: HeldEndpoint, redial: WakeableSleep, signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#options;
    let pauseMs = firstRedialMs;
    for (;;) {
      if (!held.isConnected) held.connection.connect();
      // Ends early when the connection is lost or could not be made.
      await redial.sleep(clock, longestRedialMs, signal);
      if (held.wasConnected) {
        held.wasConnected = held.isConnected;
        pauseMs = firstRedialMs;
      } else {
        await sleep(clock, pauseMs * (0.8 + random() * 0.4), signal);
        pauseMs = Math.min(pauseMs * redialFactor, longestRedialMs);
      }
    }
  }
}
