/** A host that lets a test act before each of its calls, as somebody else on the machine might. */
import type { Host } from '../../src/host/index.js';

export function interposed(host: Host, before: (call: string) => Promise<void>): Host {
  const wrapped = <T extends object>(target: T, name: string): T =>
    new Proxy(target, {
      get: (_, key) => {
        const value: unknown = Reflect.get(target, key);
        // The way to other files, not a call that touches any.
        if (key === 'apart' && typeof value === 'function')
          return (...inputs: unknown[]): unknown => wrapped(value.apply(target, inputs), 'host');
        if (typeof value === 'function')
          return async (...inputs: unknown[]): Promise<unknown> => {
            await before(`${name}.${String(key)}`);
            const result: unknown = await value.apply(target, inputs);
            return isHeldPath(result) ? wrapped(result, 'held') : result;
          };
        return typeof value === 'object' && value !== null ? wrapped(value, String(key)) : value;
      },
    });
  return wrapped(host, 'host');
}

function isHeldPath(value: unknown): value is object {
  return typeof value === 'object' && value !== null && 'procPath' in value;
}
