/** Composes Services inside one node: endpoints, proxy and names, over one set of watched objects. */
import { type Clock, isCancelled, sleep, TaskGroup, untilAborted } from '../async/index.js';
import type { KubeApi } from '../kube-client/index.js';
import type { Timeline } from '../timeline/index.js';
import { parseIpv4Range } from './addresses/ipv4-range.js';
import { defaultClusterCidr, ServiceAddresses } from './addresses/service-addresses.js';
import { CurrentZone } from './dns/current-zone.js';
import { DnsServer } from './dns/dns-server.js';
import { Forwarder } from './dns/forwarder.js';
import { HostResolvers } from './dns/host-resolvers.js';
import { DnsResponder } from './dns/responder.js';
import { EndpointsController } from './endpoints/endpoints-controller.js';
import { frontendKey } from './proxy/frontends.js';
import { LocalRoute, type RunRouteCommand, routeCommands } from './proxy/local-route.js';
import { ServiceProxy } from './proxy/proxy.js';
import { WatchedObjects } from './watched-objects.js';

export interface ServicesOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly timeline: Timeline;
  /** The address of the node at which node ports listen, beside 127.0.0.1. */
  readonly nodeIp: string;
  /** The range of cluster addresses. Default `10.96.0.0/16`. */
  readonly clusterCidr?: string;
  /** Default `cluster.local`. */
  readonly clusterDomain?: string;
  /** Where the machine's servers of names are. Default `/etc/resolv.conf`. */
  readonly resolvConfPath?: string;
  /** The port of the server of names. Default 53. */
  readonly dnsPort?: number;
  /** The port of other servers of names. Default 53. */
  readonly upstreamPort?: number;
  /** Runs the program `ip`. Default: the machine's. */
  readonly runRouteCommand?: RunRouteCommand;
}

export interface NodeServices {
  /** The server of names for pods. */
  readonly dnsAddress: string;
  readonly clusterDomain: string;
  /** Whether names are served; false where the machine does not allow the route. */
  readonly servesNames: boolean;
  /** Where the proxy listens: `TCP 10.96.3.3:80`. */
  readonly listening: readonly string[];
  /** Runs until the signal aborts, and then leaves nothing behind. */
  run(signal: AbortSignal): Promise<void>;
}

const loopback = '127.0.0.1';
const defaultDnsPort = 53;
/** After a defect a part starts anew. */
const restartMs = 1_000;

/** Throws when the range of addresses is none. */
export function createServices(options: ServicesOptions): NodeServices {
  const { api, clock, timeline, nodeIp, clusterDomain = 'cluster.local', dnsPort = defaultDnsPort } = options;
  const { dnsAddress, clusterCidr } = new ServiceAddresses(options.clusterCidr ?? defaultClusterCidr);
  const clusterRange = parseIpv4Range(clusterCidr);
  // The line before has thrown for a text that is no range.
  if (clusterRange === undefined) throw new Error(`${clusterCidr} is no range of addresses`);
  const objects = new WatchedObjects({ api, clock, timeline });
  const endpoints = new EndpointsController({ api, clock, timeline, objects });
  const run = options.runRouteCommand ?? routeCommands(clock);
  let isRouted: () => void = () => undefined;
  const routed = new Promise<void>((resolve) => {
    isRouted = resolve;
  });
  const proxy = new ServiceProxy({
    clock,
    timeline,
    objects,
    clusterRange,
    nodeAddresses: [...new Set([nodeIp, loopback])],
    route: new LocalRoute({ range: clusterRange, run }),
    served: new Set(
      (['TCP', 'UDP'] as const).map((protocol) =>
        frontendKey({ protocol, address: dnsAddress, port: dnsPort }),
      ),
    ),
    onRoute: (isThere) => isThere && isRouted(),
  });
  const zone = new CurrentZone(clock, objects, { domain: clusterDomain, dnsAddress, clusterRange });
  const path = options.resolvConfPath ?? '/etc/resolv.conf';
  const resolvers = new HostResolvers({ clock, timeline, path, clusterRange, own: [dnsAddress] });
  const { upstreamPort } = options;
  const forwarder = new Forwarder({
    clock,
    upstreams: () => resolvers.list(),
    ...(upstreamPort === undefined ? {} : { upstreamPort }),
  });
  const responder = new DnsResponder({ zone: () => zone.get(), forwarder });
  const dns = new DnsServer({ clock, timeline, address: dnsAddress, port: dnsPort, responder });

  const serveNames = async (signal: AbortSignal): Promise<void> => {
    const unfollow = zone.follow();
    try {
      // A name that is not known yet must not be denied.
      await objects.synced(signal);
      await untilAborted(routed, signal);
      await dns.run(signal);
    } finally {
      unfollow();
    }
  };

  return {
    dnsAddress,
    clusterDomain,
    get servesNames() {
      return dns.isListening;
    },
    get listening() {
      return proxy.listening;
    },
    async run(signal) {
      const tasks = new TaskGroup({ signal, onError: (name, error) => tellDefect(timeline, name, error) });
      const parts: readonly (readonly [string, (signal: AbortSignal) => Promise<void>])[] = [
        ['watch', (stop) => objects.run(stop)],
        ['endpoints', (stop) => endpoints.run(stop)],
        ['proxy', (stop) => proxy.run(stop)],
        ['names', serveNames],
      ];
      for (const [name, part] of parts)
        tasks.start(name, (stop) => keptRunning(clock, timeline, name, part, stop));
      await tasks.drained();
      await tasks.stop();
    },
  };
}

/** Runs a part until the signal aborts; a part that fails has a defect, is reported and starts anew. */
async function keptRunning(
  clock: Clock,
  timeline: Timeline,
  name: string,
  part: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await part(signal);
    } catch (error) {
      if (isCancelled(error)) return;
      tellDefect(timeline, name, error);
    }
    if (!signal.aborted) await sleep(clock, restartMs, signal);
  }
}

function tellDefect(timeline: Timeline, name: string, error: unknown): void {
  const message = `the part "${name}" of the Services failed and starts anew`;
  timeline.record({ kind: 'problem', what: 'services.task', message, error });
}
