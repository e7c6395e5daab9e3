/** The time of the next try, in words. */
import { clockTime } from './clock-time.js';

/** Undefined if it is not known or has come. */
export function nextTry(atMs: number | undefined, nowMs: number): string | undefined {
  if (atMs === undefined || !Number.isFinite(nowMs) || atMs <= nowMs) return undefined;
  return `next try at ${clockTime(atMs)} (in ${Math.ceil((atMs - nowMs) / 1000)}s)`;
}

export function afterComma(text: string | undefined): string {
  return text === undefined ? '' : `, ${text}`;
}
