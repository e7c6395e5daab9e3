/** Calls of a port by the names that its shape gives to methods, parts, constants and streams. */

export type AnyFunction = (...args: unknown[]) => unknown;

export function invoke(target: object, method: string, args: readonly unknown[]): unknown {
  let owner = target;
  const path = method.split('.');
  const name = path.pop() ?? '';
  for (const part of path) {
    // The shape of the port names its parts, which are objects.
    owner = Reflect.get(owner, part) as object;
  }
  if (name.startsWith('get ')) return Reflect.get(owner, name.slice(4));
  // The shape of the port says what it is: a function, a stream, or an object with the method.
  if (name === '()') return Reflect.apply(owner as AnyFunction, undefined, args);
  if (name === '[each]') return (owner as AsyncIterable<unknown>)[Symbol.asyncIterator]();
  return Reflect.apply(Reflect.get(owner, name) as AnyFunction, owner, args);
}

export function isPromise(value: unknown): value is Promise<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

/** An object that is only its own properties. */
export function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
