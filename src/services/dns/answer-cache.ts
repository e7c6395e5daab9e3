/** Answers of other servers, kept for a short while. */
import { BoundedMap } from '../../async/index.js';
import { servicesLimits } from '../limits.js';
import type { ForwardedAnswer } from './decode.js';
import { responseCode } from './message.js';

interface KeptAnswer {
  readonly packet: Buffer;
  readonly ttlPlaces: readonly number[];
  readonly sinceMs: number;
  readonly untilMs: number;
}

export class AnswerCache {
  readonly #kept = new BoundedMap<string, KeptAnswer>({
    maxEntries: servicesLimits.dnsCacheEntries,
    maxBytes: servicesLimits.dnsCacheBytes,
    bytesOf: (key, { packet, ttlPlaces }) => key.length + packet.length + ttlPlaces.length * 8 + 100,
  });

  get size(): number {
    return this.#kept.size;
  }

  /** A copy whose TTLs are lower by the time since it came. */
  get(key: string, nowMs: number): Buffer | undefined {
    const kept = this.#kept.use(key);
    if (kept === undefined) return undefined;
    if (nowMs >= kept.untilMs) {
      this.#kept.delete(key);
      return undefined;
    }
    const packet = Buffer.from(kept.packet);
    const ageSeconds = Math.floor((nowMs - kept.sinceMs) / 1000);
    for (const place of kept.ttlPlaces)
      packet.writeUInt32BE(Math.max(0, packet.readUInt32BE(place) - ageSeconds), place);
    return packet;
  }

  /** Keeps answers and the knowledge that there is none; failures are asked about again. */
  keep(key: string, packet: Buffer, answer: ForwardedAnswer, nowMs: number): void {
    const { code, isTruncated, ttlSeconds, ttlPlaces } = answer;
    const isFinal = code === responseCode.noError || code === responseCode.nameError;
    const keptMs = Math.min(ttlSeconds * 1000, servicesLimits.dnsCacheMs);
    if (!isFinal || isTruncated || keptMs <= 0) return;
    this.#kept.set(key, { packet, ttlPlaces, sinceMs: nowMs, untilMs: nowMs + keptMs });
  }
}
