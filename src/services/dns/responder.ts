/** Answers one query: from the cluster's names, or with what other servers say. */
import { servicesLimits } from '../limits.js';
import { addressRecordsOf, decodeQuery, truncated } from './decode.js';
import { encodeAnswer, encodeRefusal } from './encode.js';
import { type Forwarder, ForwardFailed } from './forwarder.js';
import {
  classIn,
  type DnsAnswer,
  DnsFormatError,
  type DnsName,
  type DnsQuery,
  type DnsRecord,
  type DnsTransport,
  nameKey,
  recordType,
  responseCode,
} from './message.js';
import type { Zone } from './zone.js';

export interface DnsResponderOptions {
  /** The names as they are now. */
  readonly zone: () => Zone;
  readonly forwarder: Pick<Forwarder, 'forward'>;
}

/** Without EDNS a datagram has at most 512 bytes (RFC 1035, section 4.2.1). */
const plainUdpBytes = 512;
const tcpBytes = 65_535;
/** Names of the cluster that stand for each other; a circle of them ends here. */
const mostAliases = 8;

export class DnsResponder {
  readonly #options: DnsResponderOptions;

  constructor(options: DnsResponderOptions) {
    this.#options = options;
  }

  /** Undefined when the packet deserves no answer. */
  async respond(packet: Buffer, transport: DnsTransport, signal: AbortSignal): Promise<Buffer | undefined> {
    const decoded = decodeQuery(packet);
    switch (decoded.kind) {
      case 'ignore':
        return undefined;
      case 'refuse':
        return encodeRefusal(decoded.id, decoded.code === 'format' ? 'formatError' : 'notImplemented');
      case 'query':
        return this.#answer(decoded.query, transport, signal);
    }
  }

  async #answer(query: DnsQuery, transport: DnsTransport, signal: AbortSignal): Promise<Buffer> {
    const maxBytes = transport === 'tcp' ? tcpBytes : udpBytesOf(query);
    const encode = (answer: Partial<DnsAnswer>): Buffer =>
      encodeAnswer(query, { ...emptyAnswer, ...answer }, { maxBytes });
    const { question, edns } = query;
    if (edns !== undefined && edns.version !== 0) return encode({ code: responseCode.badVersion });
    if (question.class !== classIn) return encode({ code: responseCode.refused });
    try {
      const found = await this.#find(query, signal);
      if (found !== undefined) return encode({ ...found, answers: rotated(found.answers, query.id) });
      // Who does not ask for recursion wants to know what we know ourselves.
      if (!query.recursionDesired) return encode({ code: responseCode.refused });
      const forwarded = await this.#options.forwarder.forward(query, transport, signal);
      return forwarded.length <= maxBytes ? forwarded : truncated(forwarded);
    } catch (error) {
      if (error instanceof ForwardFailed || error instanceof DnsFormatError)
        return encode({ code: responseCode.serverFailure });
      throw error;
    }
  }

  /** What the cluster says, with what a name outside that it stands for has; undefined: nothing. */
  async #find(query: DnsQuery, signal: AbortSignal): Promise<DnsAnswer | undefined> {
    const zone = this.#options.zone();
    const aliases: DnsRecord[] = [];
    let name: DnsName = query.question.name;
    for (let count = 0; count < mostAliases; count++) {
      const found = zone.find({ ...query.question, name });
      switch (found.kind) {
        case 'outside':
          return aliases.length === 0 ? undefined : this.#withOutside(query, name, aliases, signal);
        case 'no-name': {
          const { authority } = found;
          return {
            ...emptyAnswer,
            code: responseCode.nameError,
            isAuthoritative: true,
            answers: aliases,
            authority,
          };
        }
        case 'records': {
          const { answers, authority, additional } = found;
          return {
            ...emptyAnswer,
            isAuthoritative: true,
            answers: [...aliases, ...answers],
            authority,
            additional,
          };
        }
        case 'alias':
          aliases.push(...found.answers);
          name = found.target;
      }
    }
    return { ...emptyAnswer, code: responseCode.serverFailure };
  }

  async #withOutside(
    query: DnsQuery,
    name: DnsName,
    aliases: readonly DnsRecord[],
    signal: AbortSignal,
  ): Promise<DnsAnswer> {
    const { edns: _, ...plain } = query;
    const isAddress = query.question.type === recordType.A || query.question.type === recordType.AAAA;
    if (!isAddress || !query.recursionDesired)
      return { ...emptyAnswer, isAuthoritative: true, answers: aliases };
    const question = { ...query.question, name };
    const packet = await this.#options.forwarder.forward({ ...plain, question }, 'udp', signal);
    const { code, records } = addressRecordsOf(packet);
    return { ...emptyAnswer, code, isAuthoritative: true, answers: [...aliases, ...records] };
  }
}

const emptyAnswer: DnsAnswer = {
  code: responseCode.noError,
  isAuthoritative: false,
  answers: [],
  authority: [],
  additional: [],
};

function udpBytesOf({ edns }: DnsQuery): number {
  return edns === undefined
    ? plainUdpBytes
    : Math.min(Math.max(plainUdpBytes, edns.udpBytes), servicesLimits.dnsUdpBytes);
}

/** Addresses come in another order each time, so that clients that take the first are balanced, too. */
function rotated(answers: readonly DnsRecord[], by: number): readonly DnsRecord[] {
  const [first] = answers;
  const isOneSet = answers.every(
    ({ name, data }) =>
      first !== undefined && data.type === first.data.type && nameKey(name) === nameKey(first.name),
  );
  if (!isOneSet || answers.length < 2) return answers;
  const start = by % answers.length;
  return [...answers.slice(start), ...answers.slice(0, start)];
}
