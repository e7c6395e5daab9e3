/** Reads the text of a message's fields, the form in which `tables/` has them. */

/** Kinds of values that are neither messages nor scalars of protobuf, and have a form of their own in JSON. */
export type KubeScalar =
  | 'string'
  | 'int'
  | 'bool'
  | 'quantity'
  | 'time'
  | 'microTime'
  | 'port'
  | 'json'
  /** In JSON as base64. */
  | 'bytes'
  /** A list of texts as the value of a map. */
  | 'texts';

export type FieldShape = 'one' | 'list' | 'map' | 'inline';

export interface FieldText {
  readonly property: string;
  readonly fieldNumber: number;
  readonly shape: FieldShape;
  /** A scalar, or the name of a message. */
  readonly kind: string;
  /** JSON shows the field also if it is empty: a pointer of the API's types, or a required field. */
  readonly keepsZero: boolean;
}

const shapes: Readonly<Record<string, FieldShape>> = { '': 'one', '*': 'list', '%': 'map', '~': 'inline' };

/**
 * Fields are separated by blanks: `name=1!`, `command=3*` (a list), `labels=11%` (a map by names),
 * `handler=1~:ProbeHandler` (its fields are in JSON those of the message around it), `port=2:int`. A field without a
 * kind is a string. `!` marks a field that keeps its zero value. A message without fields has an empty text.
 */
export function readFields(text: string): readonly FieldText[] {
  return text
    .trim()
    .split(/\s+/)
    .filter((field) => field !== '')
    .map((field) => {
      const [, property, fieldNumber, shape, kind, mark] =
        /^(\w+)=(\d+)([*%~]?)(?::(\w+))?(!?)$/.exec(field) ?? [];
      if (property === undefined) throw new TypeError(`no field of a message: ${field}`);
      return {
        property,
        fieldNumber: Number(fieldNumber),
        shape: shapes[shape ?? ''] ?? 'one',
        kind: kind ?? 'string',
        keepsZero: mark === '!',
      };
    });
}
