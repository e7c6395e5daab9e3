/** Gives every hollow node a range of pod addresses of its own, as no two pods may have the same one. */

/** 10.64.0.0 to 10.127.255.255 in pieces for 254 pods, or for more. */
const firstAddress = 10 * 2 ** 24 + 64 * 2 ** 16;
const addresses = 64 * 2 ** 16;

export class PodRanges {
  #next = 0;

  /** A range for so many pods. The last is followed by the first: a fleet that is larger shares addresses. */
  take(pods: number): string {
    // The network, the gateway and the broadcast address are no pod's, and pods that end keep theirs for a moment.
    const prefix = Math.min(24, 32 - Math.ceil(Math.log2(pods * 2 + 4)));
    const size = 2 ** (32 - prefix);
    const start = Math.ceil(this.#next / size) * size;
    const base = start + size > addresses ? 0 : start;
    this.#next = base + size;
    const address = firstAddress + base;
    const octets = [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256);
    return `${octets.join('.')}/${prefix}`;
  }
}
