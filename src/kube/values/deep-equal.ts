/** Compares and copies Kubernetes objects by meaning: an absent field equals an empty one. */

/** Equal to Kubernetes: missing, null, empty list and empty mapping are the same. */
export function semanticEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) return equalLists(a, b);
  if (isMapping(a) && isMapping(b)) return equalMappings(a, b);
  return isEmpty(a) && isEmpty(b);
}

/** A deep copy of a JSON value. */
export function clone<T>(value: T): T {
  // The copy has the original's shape, which the compiler cannot follow through the generic walk.
  return cloneValue(value) as T;
}

function cloneValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(cloneValue);
  if (!isMapping(value)) return value;
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const member = value[key];
    const copied = typeof member === 'object' ? cloneValue(member) : member;
    setOwn(copy, key, copied);
  }
  return copy;
}

/** Sets a member with an untrusted name: a plain assignment to `__proto__` would replace the prototype. */
export function setOwn(target: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== '__proto__') target[key] = value;
  else Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
}

function equalLists(a: readonly unknown[], b: readonly unknown[]): boolean {
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index++) {
    if (!semanticEqual(a[index], b[index])) return false;
  }
  return true;
}

function equalMappings(a: Record<string, unknown>, b: Record<string, unknown>): boolean {
  for (const key of Object.keys(a)) {
    if (!semanticEqual(a[key], ownMember(b, key))) return false;
  }
  for (const key of Object.keys(b)) {
    if (!Object.hasOwn(a, key) && !isEmpty(b[key])) return false;
  }
  return true;
}

function ownMember(value: Record<string, unknown>, key: string): unknown {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  if (Array.isArray(value)) return value.length === 0;
  return isMapping(value) && Object.values(value).every((member) => member === undefined);
}
