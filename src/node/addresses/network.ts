/** Reads the parts of the machine's network that a node's addresses depend on. */
import { lookup } from 'node:dns/promises';
import { networkInterfaces } from 'node:os';
import type { HostFiles } from '../../host/index.js';
import { defaultRoutes4, defaultRoutes6, type NetworkFacts } from './local-ip.js';

export interface NetworkReader {
  read(): Promise<NetworkFacts>;
  /** The addresses of a name; none if it has none. */
  resolve(name: string): Promise<readonly string[]>;
}

/** What Node tells of the machine's network. */
export interface NetworkInterfaces {
  interfaces(): ReturnType<typeof networkInterfaces>;
  /** Rejects for a name that has no address. */
  lookup(name: string): Promise<readonly { readonly address: string }[]>;
}

export const systemInterfaces: NetworkInterfaces = {
  interfaces: () => networkInterfaces(),
  lookup: (name) => lookup(name, { all: true }),
};

export function machineNetwork(
  files: HostFiles,
  { interfaces, lookup: find }: NetworkInterfaces = systemInterfaces,
): NetworkReader {
  const routes = async (file: string): Promise<string> => {
    // A kernel without this family has no such file and no such route.
    const content = await files.readFile(file).catch(() => new Uint8Array());
    return Buffer.from(content).toString('utf8');
  };
  return {
    read: async () => ({
      addresses: Object.entries(interfaces()).flatMap(([name, addresses = []]) =>
        addresses.map(({ address, internal }) => ({
          interface: name,
          address,
          isLoopbackInterface: internal,
        })),
      ),
      routed: {
        4: defaultRoutes4(await routes('/proc/net/route')),
        6: defaultRoutes6(await routes('/proc/net/ipv6_route')),
      },
    }),
    resolve: async (name) => {
      // Most node names are not in DNS; then the default route decides.
      const found = await find(name).catch(() => []);
      return found.map(({ address }) => address);
    },
  };
}
