/** The address under which a node is known when none was given: that of the interface with the default route. */
import { readFile } from 'node:fs/promises';
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os';
// By its file: the rest of the room is for nodes of a cluster.
import { defaultRoutes4 } from '../../node/addresses/local-ip.js';

type Interfaces = Readonly<
  Record<string, readonly Pick<NetworkInterfaceInfo, 'address' | 'family' | 'internal'>[] | undefined>
>;

/** The first address, IPv4 before IPv6, of the preferred interfaces; else of any that is not loopback or link-local. */
export function chooseAddress(interfaces: Interfaces, preferred: readonly string[]): string | undefined {
  for (const name of [...preferred, ...Object.keys(interfaces)]) {
    const usable = (interfaces[name] ?? []).filter(
      ({ address, internal }) => !internal && !/^(fe80|169\.254\.)/i.test(address),
    );
    const found = usable.find(({ family }) => family === 'IPv4') ?? usable[0];
    if (found !== undefined) return found.address;
  }
  return undefined;
}

export async function detectNodeAddress(): Promise<string | undefined> {
  // A machine without this file has no Linux routing table; any address will do then.
  const routes = await readFile('/proc/net/route', 'utf8').catch(() => '');
  return chooseAddress(networkInterfaces(), defaultRoutes4(routes));
}
