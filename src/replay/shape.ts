/** What a port looks like: its methods, its parts and its constants, so that a replay has one of the same look. */
import { toJson } from './values.js';

export interface PortShape {
  /** It can be called itself. */
  readonly f?: 1;
  /** It is a stream. */
  readonly s?: 1;
  /** Its methods. */
  readonly m?: readonly string[];
  /** Properties that are read each time. */
  readonly g?: readonly string[];
  /** Its constants. */
  readonly v?: Readonly<Record<string, unknown>>;
  /** Its parts, which have methods of their own. */
  readonly o?: Readonly<Record<string, PortShape>>;
}

const deepestPart = 3;

/** Whether read JSON is a shape. */
export function isShape(json: unknown, depth = 0): json is PortShape {
  if (typeof json !== 'object' || json === null || depth > deepestPart) return false;
  // Its own properties are all that is looked at.
  const { m = [], g = [], v = {}, o = {} } = json as Readonly<Record<string, unknown>>;
  const areNames = (list: unknown): boolean =>
    Array.isArray(list) && list.every((each) => typeof each === 'string');
  if (!areNames(m) || !areNames(g) || typeof v !== 'object' || v === null) return false;
  return typeof o === 'object' && o !== null && Object.values(o).every((part) => isShape(part, depth + 1));
}

/** Whether a value is an object with methods and not data. */
export function hasMethods(value: unknown): value is object {
  if (typeof value === 'function') return true;
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value) || value instanceof Uint8Array || value instanceof Error || value instanceof Date)
    return false;
  if (value instanceof Map || value instanceof Set) return false;
  if (Symbol.asyncIterator in value) return true;
  for (const name of Object.keys(value)) {
    // Any object is a record of its own properties.
    if (typeof (value as Readonly<Record<string, unknown>>)[name] === 'function') return true;
  }
  return prototypesOf(value).some((each) => methodNames(each).length > 0);
}

export function shapeOf(target: object, depth = 0): PortShape {
  const methods = new Set<string>();
  const getters = new Set<string>();
  const constants: Record<string, unknown> = {};
  const parts: Record<string, PortShape> = {};
  for (const holder of typeof target === 'function' ? [] : [target, ...prototypesOf(target)]) {
    for (const [name, { get, value }] of Object.entries(Object.getOwnPropertyDescriptors(holder))) {
      if (name === 'constructor' || methods.has(name) || getters.has(name)) continue;
      if (name in constants || name in parts) continue;
      // What comes later is asked for like an answer.
      if (get !== undefined || value instanceof Promise) getters.add(name);
      else if (typeof value === 'function') methods.add(name);
      else if (hasMethods(value) && depth < deepestPart) parts[name] = shapeOf(value, depth + 1);
      else constants[name] = toJson(value);
    }
  }
  return {
    ...(typeof target === 'function' ? { f: 1 } : {}),
    ...(Symbol.asyncIterator in target ? { s: 1 } : {}),
    ...(methods.size === 0 ? {} : { m: [...methods] }),
    ...(getters.size === 0 ? {} : { g: [...getters] }),
    ...(Object.keys(constants).length === 0 ? {} : { v: constants }),
    ...(Object.keys(parts).length === 0 ? {} : { o: parts }),
  };
}

function prototypesOf(value: object): object[] {
  const found: object[] = [];
  for (
    let each: unknown = Object.getPrototypeOf(value);
    typeof each === 'object' && each !== null && each !== Object.prototype;
    each = Object.getPrototypeOf(each)
  )
    found.push(each);
  return found;
}

function methodNames(holder: object): string[] {
  return Object.entries(Object.getOwnPropertyDescriptors(holder))
    .filter(([name, { value }]) => name !== 'constructor' && typeof value === 'function')
    .map(([name]) => name);
}

/** What a port of this shape does when it is used. `path` names the part: empty for the port itself, `files.` for a part. */
export interface ShapeUse {
  call(method: string, args: readonly unknown[]): unknown;
  constant(json: unknown): unknown;
}

/** Makes an object of a shape. Its methods are found under their names, with those of its parts behind a dot. */
export function madeOfShape(shape: PortShape, use: ShapeUse, path = ''): object {
  const made: object = shape.f === 1 ? (...args: unknown[]) => use.call(`${path}()`, args) : {};
  const add = (name: string, value: unknown): void =>
    void Object.defineProperty(made, name, { value, enumerable: true, writable: true, configurable: true });
  for (const name of shape.m ?? []) add(name, (...args: unknown[]) => use.call(path + name, args));
  for (const [name, json] of Object.entries(shape.v ?? {})) add(name, use.constant(json));
  for (const [name, part] of Object.entries(shape.o ?? {}))
    add(name, madeOfShape(part, use, `${path}${name}.`));
  for (const name of shape.g ?? [])
    Object.defineProperty(made, name, {
      get: () => use.call(`${path}get ${name}`, []),
      enumerable: true,
      configurable: true,
    });
  if (shape.s === 1)
    Object.defineProperty(made, Symbol.asyncIterator, { value: () => use.call(`${path}[each]`, []) });
  return made;
}
