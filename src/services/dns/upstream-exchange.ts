/** One question to one server of names, by a datagram or a connection of its own. */
import { createSocket } from 'node:dgram';
import { connect } from 'node:net';
import { Cancelled, type Clock, TimedOut } from '../../async/index.js';
import { servicesLimits } from '../limits.js';
import { decodeAnswer, type ForwardedAnswer, isSameQuestion } from './decode.js';
import { DnsFormatError, type DnsQuestion } from './message.js';

export interface UpstreamQuestion {
  readonly server: string;
  readonly port: number;
  readonly id: number;
  readonly question: DnsQuestion;
  readonly packet: Buffer;
}

export interface UpstreamAnswer {
  readonly packet: Buffer;
  readonly answer: ForwardedAnswer;
}

export type ExchangeWithUpstream = (
  clock: Clock,
  asked: UpstreamQuestion,
  signal: AbortSignal,
) => Promise<UpstreamAnswer>;

/** The answer to this question, or undefined: anybody can send a datagram to a port. */
function matching(packet: Buffer, { id, question }: UpstreamQuestion): UpstreamAnswer | undefined {
  try {
    const answer = decodeAnswer(packet);
    return answer.id === id && isSameQuestion(answer.question, question) ? { packet, answer } : undefined;
  } catch (error) {
    if (error instanceof DnsFormatError) return undefined;
    throw error;
  }
}

/** Settles once, and then closes what was opened. */
function exchange(
  clock: Clock,
  signal: AbortSignal,
  begin: (done: (answer: UpstreamAnswer) => void, fail: (error: Error) => void) => () => void,
): Promise<UpstreamAnswer> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(new Cancelled());
      return;
    }
    let isOver = false;
    let close: () => void = () => undefined;
    const end = (settle: () => void): void => {
      if (isOver) return;
      isOver = true;
      timer.cancel();
      signal.removeEventListener('abort', onAbort);
      close();
      settle();
    };
    const onAbort = (): void => end(() => reject(new Cancelled()));
    const timer = clock.setTimer(servicesLimits.dnsUpstreamMs, () =>
      end(() => reject(new TimedOut('no answer in time'))),
    );
    signal.addEventListener('abort', onAbort, { once: true });
    close = begin(
      (answer) => end(() => resolve(answer)),
      (error) => end(() => reject(error)),
    );
  });
}

/** A socket of its own, so that every question has a port that others must guess. */
export const askByDatagram: ExchangeWithUpstream = (clock, asked, signal) =>
  exchange(clock, signal, (done, fail) => {
    const { server, port, packet } = asked;
    const socket = createSocket(server.includes(':') ? 'udp6' : 'udp4');
    socket.on('error', fail);
    socket.on('message', (data) => {
      const answer = matching(data, asked);
      if (answer !== undefined) done(answer);
    });
    let isOpen = true;
    // Connected, so that datagrams of others are not received at all, and a refusal is told.
    const connected = (error?: Error | null): void => {
      if (error !== undefined && error !== null) fail(error);
      else if (isOpen) socket.send(packet, (failure) => failure && fail(failure));
    };
    socket.connect(port, server, connected);
    return () => {
      isOpen = false;
      socket.close();
    };
  });

export const askByConnection: ExchangeWithUpstream = (clock, asked, signal) =>
  exchange(clock, signal, (done, fail) => {
    const { server, port, packet } = asked;
    const socket = connect({ host: server, port });
    let received = Buffer.alloc(0);
    socket.on('error', fail);
    socket.on('close', () => fail(new Error('the server closed the connection')));
    socket.on('connect', () =>
      socket.write(Buffer.concat([Buffer.from([packet.length >> 8, packet.length & 0xff]), packet])),
    );
    socket.on('data', (data) => {
      // At most 64 KiB and two bytes: the length has sixteen bits, and what follows the message is not read.
      received = Buffer.concat([received, data]);
      if (received.length < 2) return;
      const end = 2 + received.readUInt16BE(0);
      if (received.length < end) return;
      const answer = matching(received.subarray(2, end), asked);
      if (answer === undefined) fail(new DnsFormatError('the server answered something else'));
      else done(answer);
    });
    return () => socket.destroy();
  });
