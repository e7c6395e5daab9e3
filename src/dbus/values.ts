/** D-Bus values as TypeScript has them. */

/**
 * `x` and `t` are bigints, other numbers numbers; `ay` is bytes; structs, arrays and dict entries are arrays; a dict is
 * an array of its entries.
 */
export type DbusValue = number | bigint | boolean | string | Uint8Array | DbusVariant | readonly DbusValue[];

/** A value that brings its own type. */
export interface DbusVariant {
  readonly signature: string;
  readonly value: DbusValue;
}

export function isVariant(value: unknown): value is DbusVariant {
  return (
    typeof value === 'object' &&
    value !== null &&
    'signature' in value &&
    typeof value.signature === 'string' &&
    'value' in value
  );
}

const objectPath = /^\/(?:[A-Za-z0-9_]+(?:\/[A-Za-z0-9_]+)*)?$/;

export function isObjectPath(text: string): boolean {
  return objectPath.test(text);
}
