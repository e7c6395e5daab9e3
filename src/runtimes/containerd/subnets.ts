/** Chooses a pod subnet that no route of the machine and no other pod network uses. */

export interface Subnet {
  /** An unsigned 32-bit number, host bits zero. */
  readonly address: number;
  readonly prefixLength: number;
}

/** The range of the /24 subnets. */
const pool: Subnet = { address: addressFromText('10.88.0.0'), prefixLength: 16 };
const subnetPrefixLength = 24;
const subnetCount = 2 ** (subnetPrefixLength - pool.prefixLength);

function addressFromText(text: string): number {
  return text.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
}

export function parseSubnet(text: string): Subnet {
  const [address, prefixLength] = text.split('/');
  if (address === undefined || prefixLength === undefined || !/^\d+(\.\d+){3}$/.test(address)) {
    throw new Error(`not an IPv4 subnet: ${text}`);
  }
  return { address: addressFromText(address), prefixLength: Number(prefixLength) };
}

export function formatSubnet({ address, prefixLength }: Subnet): string {
  return `${[24, 16, 8, 0].map((shift) => (address >>> shift) & 255).join('.')}/${prefixLength}`;
}

export function overlaps(a: Subnet, b: Subnet): boolean {
  const sizeOfWider = 2 ** (32 - Math.min(a.prefixLength, b.prefixLength));
  return Math.floor(a.address / sizeOfWider) === Math.floor(b.address / sizeOfWider);
}

/** Parses the destinations in /proc/net/route, hexadecimal in the machine's (little-endian) byte order. */
export function parseRoutes(text: string): Subnet[] {
  return text
    .split('\n')
    .slice(1)
    .map((line) => line.split('\t'))
    .flatMap(([, destination, , , , , , mask]) => {
      if (destination === undefined || mask === undefined) {
        return [];
      }
      const ones = [...Number.parseInt(mask, 16).toString(2)].filter((bit) => bit === '1').length;
      return [{ address: Buffer.from(destination, 'hex').readUInt32LE(), prefixLength: ones }];
    });
}

/**
 * The first subnet of the pool, from the `start`th on, that overlaps none of `taken`. A route wider than the
 * pool does not count: ours is more specific and wins.
 */
export function chooseSubnet(taken: readonly Subnet[], start: number): Subnet {
  const inTheWay = taken.filter(({ prefixLength }) => prefixLength >= pool.prefixLength);
  for (let offset = 0; offset < subnetCount; offset++) {
    const index = (start + offset) % subnetCount;
    const address = pool.address + index * 2 ** (32 - subnetPrefixLength);
    const candidate = { address, prefixLength: subnetPrefixLength };
    if (!inTheWay.some((other) => overlaps(candidate, other))) {
      return candidate;
    }
  }
  throw new Error(`no free /${subnetPrefixLength} in ${formatSubnet(pool)}`);
}
