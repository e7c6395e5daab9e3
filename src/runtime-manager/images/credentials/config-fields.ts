/** Reads the fields of a configuration file and reports those that are of the wrong kind. */
import type { Mapping } from '../../../kube/index.js';

export class ConfigFields {
  constructor(readonly problem: (message: string) => void) {}

  texts(value: unknown, at: string): readonly string[] {
    if (value === undefined || value === null) return [];
    if (Array.isArray(value) && value.every((one): one is string => typeof one === 'string')) return value;
    this.problem(`${at}: Invalid value: not a list of texts`);
    return [];
  }

  object(value: unknown, at: string, known: readonly string[]): Mapping | undefined {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      this.problem(`${at}: Invalid value: not an object`);
      return undefined;
    }
    for (const name of Object.keys(value)) {
      if (!known.includes(name)) this.problem(`${at}: unknown field ${JSON.stringify(name)}`);
    }
    // A non-array object can be read by field name.
    return value as Mapping;
  }
}
