/** Asks the machine's servers of names what the cluster does not know. */
import { randomInt } from 'node:crypto';
import { type Clock, isCancelled, throwIfCancelled } from '../../async/index.js';
import { servicesLimits } from '../limits.js';
import { AnswerCache } from './answer-cache.js';
import { encodeQuery } from './encode.js';
import { type DnsQuery, type DnsTransport, nameKey, responseCode } from './message.js';
import {
  askByConnection,
  askByDatagram,
  type ExchangeWithUpstream,
  type UpstreamAnswer,
} from './upstream-exchange.js';

export interface ForwarderOptions {
  readonly clock: Clock;
  /** The servers to ask, the best first; `192.0.2.1`. */
  readonly upstreams: () => Promise<readonly string[]>;
  readonly upstreamPort?: number;
  readonly exchange?: { readonly datagram: ExchangeWithUpstream; readonly connection: ExchangeWithUpstream };
}

/** No server answered, there is none, or too many questions are under way. */
export class ForwardFailed extends Error {
  override readonly name = 'ForwardFailed';
}

const dnsPort = 53;

export class Forwarder {
  readonly #options: ForwarderOptions;
  readonly #cache = new AnswerCache();
  /**
   * Equal questions share one answer. This also ends a loop over another server: the question that comes back
   * waits for itself, and both fail in time.
   */
  readonly #underWay = new Map<string, Promise<Buffer>>();

  constructor(options: ForwarderOptions) {
    this.#options = options;
  }

  get underWay(): number {
    return this.#underWay.size;
  }

  /** The answer with the id of the query; rejects with `ForwardFailed`, or with `Cancelled`. */
  async forward(query: DnsQuery, transport: DnsTransport, signal: AbortSignal): Promise<Buffer> {
    const key = keyOf(query, transport);
    const packet =
      this.#cache.get(key, this.#options.clock.monotonic()) ??
      Buffer.from(await this.#ask(key, query, transport, signal));
    packet.writeUInt16BE(query.id, 0);
    return packet;
  }

  #ask(key: string, query: DnsQuery, transport: DnsTransport, signal: AbortSignal): Promise<Buffer> {
    const present = this.#underWay.get(key);
    if (present !== undefined) return present;
    if (this.#underWay.size >= servicesLimits.dnsForwards)
      return Promise.reject(new ForwardFailed('too many questions are under way'));
    const asked = this.#askAll(key, query, transport, signal).finally(() => this.#underWay.delete(key));
    this.#underWay.set(key, asked);
    return asked;
  }

  async #askAll(key: string, query: DnsQuery, transport: DnsTransport, signal: AbortSignal): Promise<Buffer> {
    const { clock, upstreams } = this.#options;
    const servers = await upstreams();
    if (servers.length === 0) throw new ForwardFailed('the machine has no server of names');
    let failed: UpstreamAnswer | undefined;
    let problem: unknown;
    for (let round = 0; round < servicesLimits.dnsRounds; round++) {
      for (const server of servers) {
        throwIfCancelled(signal);
        try {
          const found = await this.#askOne(server, query, transport, signal);
          if (isAnswered(found)) {
            this.#cache.keep(key, found.packet, found.answer, clock.monotonic());
            return found.packet;
          }
          failed = found;
        } catch (error) {
          if (isCancelled(error)) throw error;
          problem = error;
        }
      }
      // A server that says that it fails is believed at once.
      if (failed !== undefined) return failed.packet;
    }
    throw new ForwardFailed(`none of ${servers.join(', ')} answers`, { cause: problem });
  }

  #askOne(
    server: string,
    query: DnsQuery,
    transport: DnsTransport,
    signal: AbortSignal,
  ): Promise<UpstreamAnswer> {
    const { clock, upstreamPort = dnsPort, exchange } = this.#options;
    const id = randomInt(65_536);
    const packet = encodeQuery(id, query.question, query);
    const ask =
      transport === 'udp' ? (exchange?.datagram ?? askByDatagram) : (exchange?.connection ?? askByConnection);
    return ask(clock, { server, port: upstreamPort, id, question: query.question, packet }, signal);
  }
}

function isAnswered({ answer }: UpstreamAnswer): boolean {
  return answer.code === responseCode.noError || answer.code === responseCode.nameError;
}

function keyOf(
  { question, recursionDesired, checkingDisabled, edns }: DnsQuery,
  transport: DnsTransport,
): string {
  const { name, type, class: of } = question;
  const flags = [recursionDesired, checkingDisabled, edns !== undefined, edns?.dnssecOk === true]
    .map(Number)
    .join('');
  return `${transport} ${type} ${of} ${flags} ${nameKey(name)}`;
}
