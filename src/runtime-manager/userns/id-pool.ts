/** Decides which host ids pods with user namespaces may have: those of the user `kubelet`, or all but the machine's own. */
import { goQuote } from '../../kube/index.js';

/** A range of ids, of users and of groups alike. */
export interface IdRange {
  readonly firstId: number;
  readonly length: number;
}

/** The range in blocks, one per pod. */
export interface IdPool {
  readonly firstId: number;
  readonly blocks: number;
}

const allIds = 2 ** 32;

/** What `getsubids` prints: one line such as `0: kubelet 65536 7208960`. */
export function parseSubordinateIds(output: string): IdRange {
  const lines = output.trim().split('\n');
  if (lines.length !== 1) {
    throw new Error(`error parsing line ${goQuote(output)}: it must contain only one line`);
  }
  const [, , first, length, ...more] = output.trim().split(/\s+/);
  if (first === undefined || length === undefined || more.length > 0) {
    throw new Error(`invalid line ${goQuote(output)}`);
  }
  return { firstId: idNumber(first, output), length: idNumber(length, output) };
}

function idNumber(text: string, output: string): number {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value < allIds)) throw new Error(`error parsing line ${goQuote(output)}: ${goQuote(text)} is no id`);
  return value;
}

/** The pool for a range of the administrator, or without one. Blocks begin at multiples of their length and never at 0. */
export function idPool(
  assigned: IdRange | undefined,
  { idsPerPod, maxPods }: { readonly idsPerPod: number; readonly maxPods: number },
): IdPool {
  const { firstId, length } = assigned ?? {
    firstId: idsPerPod,
    length: Math.floor(allIds / idsPerPod) * idsPerPod - idsPerPod,
  };
  if (firstId % idsPerPod !== 0) {
    throw new Error(`kubelet user assigned ID ${firstId} is not a multiple of ${idsPerPod}`);
  }
  // Root of a pod must not be root of the machine.
  if (firstId < idsPerPod) {
    throw new Error(`kubelet user assigned ID ${firstId} must be greater or equal to ${idsPerPod}`);
  }
  if (length % idsPerPod !== 0) {
    throw new Error(`kubelet user assigned IDs length ${length} is not a multiple of ${idsPerPod}`);
  }
  if (firstId + length > allIds) {
    throw new Error(`kubelet user assigned IDs ${firstId} and the next ${length} exceed the largest ID`);
  }
  const blocks = length / idsPerPod;
  if (blocks < maxPods)
    throw new Error(`kubelet user assigned IDs are not enough to support ${maxPods} pods`);
  return { firstId, blocks };
}
