/** An object with every field of the tables, for tests. */
import type { KubeMessage } from './message.js';

/**
 * Numbers and texts differ from field to field, so that a mistaken number shows. Lists have two elements, and maps two
 * entries.
 */
export function everyField(message: KubeMessage<object>): Record<string, unknown> {
  let count = 0;
  const fill = (of: KubeMessage<object>): Record<string, unknown> => {
    const object: Record<string, unknown> = {};
    for (const { property, kind, shape } of of.fields) {
      const one = (): unknown => {
        count++;
        if (typeof kind !== 'string') return fill(kind);
        switch (kind) {
          case 'string':
            return `${property}-${count}`;
          case 'int':
            return count;
          case 'bool':
            return true;
          case 'quantity':
            return `${count}`;
          case 'time':
            return new Date(count * 1_000_000).toISOString().replace('.000Z', 'Z');
          case 'microTime':
            return new Date(count * 1_000_000).toISOString().replace('.000Z', '.012345Z');
          case 'bytes':
            return Buffer.from([count % 256, 255]).toString('base64');
          case 'texts':
            return [`${property}-${count}`, 'b'];
          case 'port':
            return count % 2 === 0 ? count : `port-${count}`;
          case 'json':
            return { 'f:field': { count } };
        }
      };
      if (shape === 'inline') Object.assign(object, one());
      else if (shape === 'list') object[property] = [one(), one()];
      else if (shape === 'map') object[property] = { a: one(), b: one() };
      else object[property] = one();
    }
    return object;
  };
  return fill(message);
}
