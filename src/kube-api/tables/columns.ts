/** The columns and rows of each kind in a table, as `kubectl get` shows them. */
import type { KubeObject } from '../../kube/types/index.js';
import { formatAge } from '../../kube/values/age.js';

export interface TableColumn {
  readonly name: string;
  readonly type: 'string' | 'integer';
  readonly description: string;
  /** What the text stands for, as in `quantity`. */
  readonly format?: string;
  /** Shown only with `-o wide`. */
  readonly wide?: boolean;
}

export type TableCell = string | number;

export interface KindTable<T extends KubeObject = KubeObject> {
  /** After the name. */
  readonly columns: readonly TableColumn[];
  readonly row: (object: T, nowMs: number) => readonly TableCell[];
}

export function text(name: string, description: string): TableColumn {
  return { name, type: 'string', description };
}

export function count(name: string, description: string): TableColumn {
  return { name, type: 'integer', description };
}

export function wide(column: TableColumn): TableColumn {
  return { ...column, wide: true };
}

export const ageColumn = text('Age', 'Time since it was created');

export const none = '<none>';

/** `<unknown>` for a time that is absent or no time. */
export function since(time: string | null | undefined, nowMs: number): string {
  const ms = Date.parse(time ?? '');
  return Number.isNaN(ms) ? '<unknown>' : formatAge(nowMs - ms);
}

export function ageOf({ metadata }: KubeObject, nowMs: number): string {
  return since(metadata.creationTimestamp, nowMs);
}

export function orNone(values: readonly string[]): string {
  return values.length === 0 ? none : values.join(',');
}

/** A table of a kind, whatever its type of objects. */
export function kindTable<T extends KubeObject>(table: KindTable<T>): KindTable {
  // The printer calls a row only with objects of its own kind.
  return table as unknown as KindTable;
}
