/** Content hashes: the identity of static pods and of container specs. */
import type { Container } from '../types/container.js';

/** JSON with sorted keys and without undefined members, so that equal content has equal text. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item ?? null)).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value ?? null);
  const members: string[] = [];
  // A non-array object, so its members can be read by name.
  const object = value as Record<string, unknown>;
  for (const key of Object.keys(object).sort()) {
    if (object[key] !== undefined) members.push(`${JSON.stringify(key)}:${canonicalJson(object[key])}`);
  }
  return `{${members.join(',')}}`;
}

/** 32-bit FNV-1a. */
export function fnv32a(bytes: Uint8Array): number {
  let hash = 0x811c9dc5;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}

/** 128-bit FNV-1a as 32 hex digits. */
export function fnv128a(bytes: Uint8Array): string {
  // Sixteen-bit limbs, least significant first: products with 0x13b stay far below 2^53.
  let limbs = [0xc58d, 0x6295, 0x2175, 0x62b8, 0x0142, 0x07bb, 0x272e, 0x6c62];
  for (const byte of bytes) {
    limbs[0] = (limbs[0] ?? 0) ^ byte;
    limbs = timesPrime(limbs);
  }
  return limbs
    .reverse()
    .map((limb) => limb.toString(16).padStart(4, '0'))
    .join('');
}

/** Times the prime 2^88 + 0x13b, modulo 2^128. */
function timesPrime(limbs: readonly number[]): number[] {
  const product: number[] = [];
  let carry = 0;
  for (let index = 0; index < 8; index++) {
    let sum = (limbs[index] ?? 0) * 0x13b + carry;
    // Shifting by 88 bits is five limbs and eight bits.
    if (index >= 5) sum += ((limbs[index - 5] ?? 0) << 8) & 0xffff;
    if (index >= 6) sum += (limbs[index - 6] ?? 0) >>> 8;
    product.push(sum & 0xffff);
    carry = Math.floor(sum / 0x10000);
  }
  return product;
}

/** The UID of a static pod: hashes its content and its origin (`host:…`, `file:…` or `url:…`). */
export function hashStaticPod(pod: unknown, origins: readonly string[]): string {
  return fnv128a(new TextEncoder().encode(canonicalJson(pod) + origins.join('')));
}

/**
 * The hash that decides whether a running container matches its spec, in hex. The reference kubelet labels
 * its containers with the same value, so the hashed text is fixed.
 */
export function hashContainer(container: Pick<Container, 'name' | 'image'>): string {
  // Needed for every plan of every pod, while a spec's container objects stay the same.
  const known = hashes.get(container);
  if (known !== undefined && known.name === container.name && known.image === container.image)
    return known.hash;
  const hash = computeContainerHash(container);
  hashes.set(container, { name: container.name, image: container.image, hash });
  return hash;
}

const hashes = new WeakMap<
  object,
  { readonly name: string; readonly image: string | undefined; readonly hash: string }
>();

function computeContainerHash(container: Pick<Container, 'name' | 'image'>): string {
  const json = escapeHtml(
    `{"image":${JSON.stringify(container.image ?? '')},"name":${JSON.stringify(container.name)}}`,
  );
  const bytes = new TextEncoder().encode(json);
  return fnv32a(new TextEncoder().encode(`([]uint8)[${bytes.join(' ')}]`)).toString(16);
}

function escapeHtml(json: string): string {
  return json.replace(/[<>&\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
