/** Decides which connection gives up its place for a new one. */
import { isIPv6 } from 'node:net';

export interface EvictableConnection {
  /** The client that the connection counts for. */
  readonly client: string;
  /** Whether no request on it was admitted yet. */
  readonly isStranger: boolean;
  /** Whether an admitted request, or its upgraded session, is running. */
  readonly isBusy: boolean;
}

export interface EvictionLimits {
  readonly connections: number;
  readonly strangersPerAddress: number;
}

/**
 * Undefined: there is room. The places come oldest first; the newcomer is one of them and gives up its own
 * place if all others are busy. Strangers go before clients that were admitted once, those of the client that
 * has most of them before others, and the oldest of these first: a client that opens many silent connections
 * loses its own.
 */
export function placeToGive<P extends EvictableConnection>(
  places: readonly P[],
  newcomer: P,
  { connections, strangersPerAddress }: EvictionLimits,
): P | undefined {
  const free = places.filter((place) => !place.isBusy && place !== newcomer);
  const strangers = free.filter(({ isStranger }) => isStranger);
  const own = strangers.filter(({ client }) => client === newcomer.client);
  if (own.length >= strangersPerAddress) return own[0];
  if (places.length <= connections) return undefined;
  return oldestOfGreediest(strangers.length > 0 ? strangers : free) ?? newcomer;
}

function oldestOfGreediest<P extends EvictableConnection>(places: readonly P[]): P | undefined {
  const counts = new Map<string, number>();
  for (const { client } of places) counts.set(client, (counts.get(client) ?? 0) + 1);
  const most = Math.max(...counts.values());
  return places.find(({ client }) => counts.get(client) === most);
}

/** The client of an address: in IPv6 each client has a whole /64 network. */
export function clientOf(address: string | undefined): string {
  if (address === undefined) return '';
  if (!isIPv6(address) || address.startsWith('::ffff:')) return address;
  const [head = '', tail] = address.split('%', 1).join('').split('::');
  const groups = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - groups.length - after.length);
  const all = [...groups, ...Array<string>(zeros).fill('0'), ...after];
  return `${all.slice(0, 4).join(':')}::/64`;
}
