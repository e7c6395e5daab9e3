/** What a request does about fields that its object's kind does not have: refuse, warn or ignore. */
import type { KubeObject } from '../../kube/types/index.js';
import { ApiError } from '../../kube-client/api-error.js';
import { isMapping } from '../../kube-client/patches/json.js';
import type { ObjectRef } from '../../kube-client/port.js';
import { apiVersionOf, type Resource } from '../../kube-client/resources.js';
import { memberNamedTwice } from '../apply/ownership.js';
import { kubeApiLimits } from '../limits.js';
import { invalid } from '../objects/server-errors.js';
import { readFields, WrongFieldValue } from '../schema/read-object.js';

type FieldValidation = 'Strict' | 'Warn' | 'Ignore';

/** Of one request; collects its warnings. */
export class WrittenFields {
  readonly #validation: FieldValidation;
  readonly #warnings: string[] = [];

  constructor(query: URLSearchParams) {
    this.#validation = fieldValidation(query.get('fieldValidation') ?? '');
  }

  /** The object of a body, with only the fields of its kind. */
  posted(resource: Resource, object: Readonly<Record<string, unknown>>): Record<string, unknown> {
    const refuse = (why: string): ApiError => {
      const { kind, version } = resource;
      const message = `${kind} in version ${JSON.stringify(version)} cannot be handled as a ${kind}: ${why}`;
      return new ApiError({ code: 400, message });
    };
    return this.#read(resource, object, refuse);
  }

  /** The object that a patch made of a stored one, with only the fields of its kind. */
  patched<T extends KubeObject>(resource: Resource<T>, object: T): T {
    const given = { ...object };
    const name = isMapping(given.metadata) ? String(given.metadata.name ?? '') : '';
    const refuse = (why: string): ApiError => invalid(resource, name, `patch: Invalid value: ${why}`);
    // A patched object is read as one of its own kind, whatever the patch made of it.
    return {
      metadata: {},
      ...this.#read(resource, given as Record<string, unknown>, refuse),
    } as unknown as T;
  }

  /** A configuration to apply: fields that its kind does not have are refused in any case. */
  applied<T extends KubeObject>(resource: Resource<T>, ref: ObjectRef, config: Record<string, unknown>): T {
    const refuse = (why: string): ApiError => {
      const { kind } = resource;
      const object = `${ref.namespace ?? ''}/${ref.name}; ${apiVersionOf(resource)}, Kind=${kind}`;
      return new ApiError({ code: 400, message: `failed to create typed patch object (${object}): ${why}` });
    };
    const { object, unknownFields } = readOr(refuse, () => readFields(resource.kind, config));
    if (unknownFields.length > 0)
      throw refuse(unknownFields.map((field) => `.${field}: field not declared in schema`).join(', '));
    const twice = memberNamedTwice(resource, object);
    if (twice !== undefined) throw refuse(twice);
    // Read by the schema of its kind.
    return object as unknown as T;
  }

  /** One header for all warnings. */
  headers(): Readonly<Record<string, string>> {
    if (this.#warnings.length === 0) return {};
    let left = kubeApiLimits.warningChars;
    const texts = this.#warnings
      .map((warning) => `299 - ${JSON.stringify(warning).replace(/[^\x20-\x7e]/g, '?')}`)
      .filter((text) => {
        left -= text.length;
        return left >= 0;
      });
    return { Warning: texts.join(', ') };
  }

  #read(
    resource: Resource,
    given: Readonly<Record<string, unknown>>,
    refuse: (why: string) => ApiError,
  ): Record<string, unknown> {
    const { object, unknownFields } = readOr(refuse, () => readFields(resource.kind, given));
    const told = unknownFields.map((field) => `unknown field ${JSON.stringify(field)}`);
    if (this.#validation === 'Strict' && told.length > 0)
      throw refuse(`strict decoding error: ${told.join(', ')}`);
    if (this.#validation === 'Warn') this.#warnings.push(...told);
    return object;
  }
}

function readOr<T>(refuse: (why: string) => ApiError, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof WrongFieldValue) throw refuse(error.message);
    throw error;
  }
}

function fieldValidation(text: string): FieldValidation {
  if (text === '') return 'Warn';
  if (text === 'Strict' || text === 'Warn' || text === 'Ignore') return text;
  const message = `fieldValidation: Unsupported value: ${JSON.stringify(text)}: supported values: "", "Ignore", "Strict", "Warn"`;
  throw new ApiError({ code: 422, reason: 'Invalid', message });
}
