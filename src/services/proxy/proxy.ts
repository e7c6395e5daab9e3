/** Keeps one listener for each address of a Service, and balances what comes there over the Service's endpoints. */
import {
  type Clock,
  errorText,
  isCancelled,
  sleep,
  systemErrorCode,
  WakeableSleep,
} from '../../async/index.js';
import type { Timeline } from '../../timeline/index.js';
import type { Ipv4Range } from '../addresses/ipv4-range.js';
import { servicesLimits } from '../limits.js';
import type { WatchedObjects } from '../watched-objects.js';
import { Connections } from './connections.js';
import { type Frontend, planFrontends, unservedPorts } from './frontends.js';
import type { LocalRoute } from './local-route.js';
import { TcpFrontend } from './tcp-frontend.js';
import { UdpFrontend, type UdpSessionCount } from './udp-frontend.js';

export interface ServiceProxyOptions {
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly objects: WatchedObjects;
  readonly clusterRange: Ipv4Range;
  readonly nodeAddresses: readonly string[];
  readonly route: Pick<LocalRoute, 'ensure' | 'remove'>;
  /** Keys of frontends that something else in this process serves. */
  readonly served?: ReadonlySet<string>;
  /** Called when the route is there, and when it is not any more. */
  readonly onRoute?: (isThere: boolean) => void;
}

/** Changes that come together are taken together. */
const gatherMs = 10;
/** After this long an address that could not be had is tried again. */
const retryMs = 5_000;
/** How often the route is set again, for the case that somebody removed it. */
const routePeriodMs = 60_000;
const sweepMs = 10_000;

interface OpenFrontend {
  frontend: Frontend;
  readonly listener: TcpFrontend | UdpFrontend;
}

export class ServiceProxy {
  readonly #options: ServiceProxyOptions;
  readonly #connections = new Connections();
  readonly #udpSessions: UdpSessionCount = { open: 0 };
  readonly #open = new Map<string, OpenFrontend>();
  /** Why an address is not listened at; told once. */
  readonly #failures = new Map<string, string>();
  readonly #wait = new WakeableSleep();
  #isChanged = false;
  #routeProblem: string | undefined = 'the route is not set yet';
  #routeCheckedMs = Number.NEGATIVE_INFINITY;
  #unserved = '';

  constructor(options: ServiceProxyOptions) {
    this.#options = options;
  }

  /** The keys of the frontends that listen now. */
  get listening(): readonly string[] {
    return [...this.#open.keys()];
  }

  get connections(): number {
    return this.#connections.size;
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { objects, clock } = this.#options;
    const unsubscribe = objects.subscribe(({ of }) => {
      if (of !== 'services' && of !== 'slices') return;
      this.#isChanged = true;
      this.#wait.wake();
    });
    const sweeping = this.#sweep(signal);
    try {
      await objects.synced(signal);
      for (;;) {
        await this.#ensureRoute(signal);
        this.#isChanged = false;
        await this.#apply(signal);
        if (!this.#isChanged)
          await this.#wait.sleep(clock, this.#failures.size > 0 ? retryMs : routePeriodMs, signal);
        await sleep(clock, gatherMs, signal);
      }
    } catch (error) {
      if (!isCancelled(error)) throw error;
    } finally {
      unsubscribe();
      for (const { listener } of this.#open.values()) listener.close();
      this.#open.clear();
      this.#connections.cutAll();
      await this.#removeRoute();
      await sweeping;
    }
  }

  async #sweep(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    try {
      for (;;) {
        await sleep(clock, sweepMs, signal);
        const nowMs = clock.monotonic();
        this.#connections.sweep(nowMs);
        for (const { listener } of this.#open.values())
          if (listener instanceof UdpFrontend) listener.sweep(nowMs);
      }
    } catch (error) {
      if (!isCancelled(error)) throw error;
    }
  }

  async #ensureRoute(signal: AbortSignal): Promise<void> {
    const { clock, route, timeline, clusterRange, onRoute } = this.#options;
    const nowMs = clock.monotonic();
    if (nowMs - this.#routeCheckedMs < routePeriodMs) return;
    this.#routeCheckedMs = nowMs;
    const problem = await route.ensure(signal);
    if (problem === this.#routeProblem) return;
    this.#routeProblem = problem;
    onRoute?.(problem === undefined);
    if (problem === undefined) {
      const message = `the cluster addresses ${clusterRange.text} are addresses of this machine`;
      timeline.record({ kind: 'effect', what: 'services.route', message });
      return;
    }
    const message =
      `the cluster addresses ${clusterRange.text} cannot be made addresses of this machine: ` +
      'cluster IPs and the names of Services do not work, node ports do';
    timeline.record({ kind: 'problem', what: 'services.route', message, because: problem });
  }

  async #removeRoute(): Promise<void> {
    const problem = await this.#options.route.remove();
    if (problem === undefined) return;
    const message = 'the route of the cluster addresses was not removed';
    this.#options.timeline.record({ kind: 'problem', what: 'services.route', message, because: problem });
  }

  async #apply(signal: AbortSignal): Promise<void> {
    const { objects, timeline } = this.#options;
    const services = objects.services.list();
    this.#tellUnserved(unservedPorts(services).join(', '));
    const wanted = new Map(
      planFrontends(services, objects.slices.list(), this.#options)
        .filter(({ isNodePort }) => isNodePort || this.#routeProblem === undefined)
        .slice(0, servicesLimits.frontends)
        .map((frontend) => [frontend.key, frontend]),
    );
    for (const [key, { listener, frontend }] of this.#open) {
      if (wanted.has(key)) continue;
      listener.close();
      this.#open.delete(key);
      const message = `the proxy no longer listens at ${key} for the Service ${frontend.service}`;
      timeline.record({
        kind: 'effect',
        level: 'debug',
        what: 'services.listener',
        message,
        data: dataOf(frontend),
      });
    }
    for (const key of [...this.#failures.keys()]) if (!wanted.has(key)) this.#failures.delete(key);
    for (const frontend of wanted.values()) {
      const open = this.#open.get(frontend.key);
      if (open !== undefined) {
        open.frontend = frontend;
        open.listener.set(frontend);
      } else await this.#listen(frontend);
      if (signal.aborted) return;
    }
  }

  async #listen(frontend: Frontend): Promise<void> {
    const { clock, timeline } = this.#options;
    const { key, protocol, service } = frontend;
    const listener =
      protocol === 'TCP'
        ? new TcpFrontend({ clock, connections: this.#connections })
        : new UdpFrontend({ clock, count: this.#udpSessions });
    listener.set(frontend);
    const data = dataOf(frontend);
    try {
      let isTold = false;
      await listener.open(frontend, (error) => {
        if (!isTold) this.#tellFailure(frontend, errorText(error));
        isTold = true;
      });
      this.#open.set(key, { frontend, listener });
      this.#failures.delete(key);
      const message = `the proxy listens at ${key} for the Service ${service}`;
      timeline.record({ kind: 'effect', level: 'debug', what: 'services.listener', message, data });
    } catch (error) {
      const isTaken = systemErrorCode(error) === 'EADDRINUSE';
      const cause = isTaken
        ? `another process listens at port ${frontend.port} of every address`
        : errorText(error);
      if (this.#failures.get(key) === cause) return;
      this.#failures.set(key, cause);
      this.#tellFailure(frontend, cause);
    }
  }

  #tellFailure(frontend: Frontend, because: string): void {
    const message = `the proxy cannot listen at ${frontend.key} for the Service ${frontend.service}`;
    const data = dataOf(frontend);
    this.#options.timeline.record({ kind: 'problem', what: 'services.listener', message, because, data });
  }

  #tellUnserved(ports: string): void {
    if (ports === this.#unserved) return;
    this.#unserved = ports;
    if (ports === '') return;
    const message = `ports of Services are not served, only TCP and UDP are: ${ports}`;
    this.#options.timeline.record({ kind: 'problem', level: 'warn', what: 'services.protocol', message });
  }
}

function dataOf({ service, address, port, protocol }: Frontend) {
  return { service, address, port, protocol };
}
