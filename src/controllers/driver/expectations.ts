/** What a controller wrote and does not see in its copy yet; until it does, it creates and deletes nothing more. */
import type { KubeObject } from '../../kube/index.js';
import { controllerLimits } from '../limits.js';

/** What the copy of a kind can tell. */
export interface SeenObjects {
  byUid(uid: string): KubeObject | undefined;
  hasSeen(uid: string): boolean;
}

interface Expected {
  readonly what: 'created' | 'deleted';
  readonly sinceMs: number;
}

export class Expectations {
  readonly #seen: SeenObjects;
  /** By the key of the owner, then by the UID of the object. */
  readonly #expected = new Map<string, Map<string, Expected>>();

  constructor(seen: SeenObjects) {
    this.#seen = seen;
  }

  created(key: string, uid: string | undefined, nowMs: number): void {
    this.#expect(key, uid, { what: 'created', sinceMs: nowMs });
  }

  deleted(key: string, uid: string | undefined, nowMs: number): void {
    this.#expect(key, uid, { what: 'deleted', sinceMs: nowMs });
  }

  /** Whether the copy shows all that was written for the key, or the controller has waited long enough. */
  isMet(key: string, nowMs: number): boolean {
    const expected = this.#expected.get(key);
    if (expected === undefined) return true;
    for (const [uid, { what, sinceMs }] of expected) {
      if (this.#isSeen(uid, what) || nowMs - sinceMs >= controllerLimits.expectationMs) expected.delete(uid);
    }
    if (expected.size > 0) return false;
    this.#expected.delete(key);
    return true;
  }

  forget(key: string): void {
    this.#expected.delete(key);
  }

  #isSeen(uid: string, what: Expected['what']): boolean {
    if (what === 'created') return this.#seen.hasSeen(uid);
    const object = this.#seen.byUid(uid);
    return object === undefined || object.metadata.deletionTimestamp !== undefined;
  }

  #expect(key: string, uid: string | undefined, expected: Expected): void {
    if (uid === undefined) return;
    const known = this.#expected.get(key) ?? new Map<string, Expected>();
    known.set(uid, expected);
    this.#expected.set(key, known);
  }
}
