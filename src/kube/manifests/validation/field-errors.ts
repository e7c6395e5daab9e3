/** Validation errors as the Kubernetes API words them, each tied to its field. */
import { type FieldPath, formatFieldPath } from '../document.js';
import { maxProblems } from '../document-limits.js';

export interface FieldError {
  readonly path: FieldPath;
  /** `Required value`, `Invalid value: "x": …`, without the field. */
  readonly message: string;
}

/** `spec.containers[0].image: Required value` */
export function formatFieldError(error: FieldError): string {
  return error.path.length === 0 ? error.message : `${formatFieldPath(error.path)}: ${error.message}`;
}

/** `[a: Required value, b: …]`, or the single error alone, as the API joins them. */
export function formatFieldErrors(errors: readonly FieldError[]): string {
  const texts = errors.map(formatFieldError);
  return texts.length === 1 ? texts.join() : `[${texts.join(', ')}]`;
}

/** A place in the object; the full path is only built when there is an error. */
export class LazyFieldPath {
  private constructor(
    private readonly parent: LazyFieldPath | undefined,
    private readonly part: string | number,
  ) {}

  static root(name: string): LazyFieldPath {
    return new LazyFieldPath(undefined, name);
  }

  child(part: string | number): LazyFieldPath {
    return new LazyFieldPath(this, part);
  }

  path(): FieldPath {
    const parts: (string | number)[] = [];
    for (let field: LazyFieldPath | undefined = this; field !== undefined; field = field.parent)
      parts.push(field.part);
    return parts.reverse();
  }
}

/** Collects errors, so that a user sees all of them at once, or the first hundred and that there are more. */
export class FieldErrors {
  readonly list: FieldError[] = [];

  required(field: LazyFieldPath, detail = ''): void {
    this.add(field, detail === '' ? 'Required value' : `Required value: ${detail}`);
  }

  invalid(field: LazyFieldPath, value: unknown, detail: string): void {
    this.add(field, `Invalid value: ${show(value)}: ${detail}`);
  }

  unsupported(field: LazyFieldPath, value: unknown, supported: readonly string[]): void {
    const list = supported.map((one) => JSON.stringify(one)).join(', ');
    this.add(field, `Unsupported value: ${show(value)}: supported values: ${list}`);
  }

  duplicate(field: LazyFieldPath, value: unknown): void {
    this.add(field, `Duplicate value: ${show(value)}`);
  }

  forbidden(field: LazyFieldPath, detail: string): void {
    this.add(field, `Forbidden: ${detail}`);
  }

  notFound(field: LazyFieldPath, value: unknown): void {
    this.add(field, `Not found: ${show(value)}`);
  }

  tooLong(field: LazyFieldPath, limitBytes: number): void {
    this.add(field, `Too long: may not be more than ${limitBytes} bytes`);
  }

  tooMany(field: LazyFieldPath, count: number, limit: number): void {
    this.add(field, `Too many: ${count}: must have at most ${limit} items`);
  }

  /** One of a closed list; the caller handles an absent value. */
  oneOf(field: LazyFieldPath, value: string | undefined, supported: readonly string[]): void {
    if (value !== undefined && !supported.includes(value)) this.unsupported(field, value, supported);
  }

  /** Like `oneOf`, and the value is required. */
  requiredOneOf(field: LazyFieldPath, value: string | undefined, supported: readonly string[]): void {
    if (value === undefined || value === '') this.required(field);
    else this.oneOf(field, value, supported);
  }

  /** Reports a violation of a name rule. */
  check(field: LazyFieldPath, value: string, rule: (value: string) => string | undefined): void {
    const detail = rule(value);
    if (detail !== undefined) this.invalid(field, value, detail);
  }

  /** Like `check`, and an empty value is reported as missing. */
  requiredCheck(
    field: LazyFieldPath,
    value: string | undefined,
    rule: (value: string) => string | undefined,
  ): void {
    if (value === undefined || value === '') this.required(field);
    else this.check(field, value, rule);
  }

  inRange(field: LazyFieldPath, value: number | undefined, lowest: number, highest: number): void {
    if (value === undefined || (value >= lowest && value <= highest)) return;
    this.invalid(field, value, `must be between ${lowest} and ${highest}, inclusive`);
  }

  nonNegative(field: LazyFieldPath, value: number | undefined): void {
    if (value !== undefined && value < 0) this.invalid(field, value, 'must be greater than or equal to 0');
  }

  private add(field: LazyFieldPath, message: string): void {
    if (this.list.length < maxProblems) this.list.push({ path: field.path(), message });
    else if (this.list.length === maxProblems) {
      this.list.push({ path: [], message: 'there are more errors; correct those above first' });
    }
  }
}

/** An invalid value may also be long. */
const longestShown = 1024;

function show(value: unknown): string {
  const text = value === undefined ? 'null' : JSON.stringify(value);
  return text.length > longestShown ? `${text.slice(0, longestShown)}…` : text;
}
