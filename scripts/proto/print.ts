/** Prints a parsed proto as TypeScript: interfaces, field tables, enum constants and method tables. */
import type { ProtoEnum, ProtoField, ProtoFile, ProtoMessage, ProtoService } from './parse.js';
import { fullName, type ProtoSymbol, resolveName, type Symbols, typeScriptName } from './symbols.js';

const scalarTypes: Readonly<Record<string, string>> = {
  string: 'string',
  bytes: 'Uint8Array',
  bool: 'boolean',
  int32: 'number',
  uint32: 'number',
  int64: 'number',
  uint64: 'number',
  fixed64: 'bigint',
  double: 'number',
};

export interface PrintOptions {
  /** Those of the proto and of the protos that it imports. */
  readonly symbols: Symbols;
  /** The module that has `MessageType`. */
  readonly codecModule: string;
  /** The module of another proto. */
  readonly moduleOf: (file: ProtoFile) => string;
}

export function printProto(file: ProtoFile, options: PrintOptions): string {
  const printer = new Printer(file, options.symbols);
  const parts = [
    ...file.enums.map(printEnum),
    ...file.messages.map((message) => printer.message(message)),
    ...file.services.map((service) => printer.service(service)),
  ];
  const modules = new Map<string, string[]>();
  const use = (module: string, names: readonly string[]): void => {
    if (names.length > 0) modules.set(module, [...(modules.get(module) ?? []), ...names]);
  };
  use(options.codecModule, [
    ...(file.messages.length > 0 ? ['MessageType'] : []),
    ...(file.services.length > 0 ? ['type MethodInfo'] : []),
  ]);
  for (const [from, names] of printer.imported) use(options.moduleOf(from), [...names]);
  const imports = [...modules].map(([module, names]) => `import { ${names.join(', ')} } from '${module}';\n`);
  const head = `/** Generated from ${file.fileName} by \`npm run generate\`: edit the proto instead. */\n`;
  return [`${head}${imports.join('')}`, ...parts].join('\n');
}

function printEnum({ name: protoName, values }: ProtoEnum): string {
  const name = typeScriptName(protoName);
  const members = values.map((value) => `  ${value.name}: ${value.number},\n`).join('');
  return `export const ${name} = {\n${members}} as const;\nexport type ${name} = (typeof ${name})[keyof typeof ${name}];\n`;
}

/** A field whose type is known. */
interface TypedField extends ProtoField {
  /** Absent for a scalar. */
  readonly symbol?: ProtoSymbol;
}

class Printer {
  /** The names that other protos provide. */
  readonly imported = new Map<ProtoFile, Set<string>>();
  readonly #file: ProtoFile;
  readonly #symbols: Symbols;
  readonly #ownNames: ReadonlySet<string>;

  constructor(file: ProtoFile, symbols: Symbols) {
    this.#file = file;
    this.#symbols = symbols;
    this.#ownNames = new Set([...file.messages, ...file.enums].map(({ name }) => typeScriptName(name)));
  }

  message(message: ProtoMessage): string {
    const name = typeScriptName(message.name);
    const protoName = fullName(this.#file, message.name);
    const fields = message.fields.map((field): TypedField => {
      if (Object.hasOwn(scalarTypes, field.type)) return field;
      return { ...field, symbol: this.#resolve(field.type, protoName) };
    });
    const declared = properties(fields).map((property) => `  ${property};\n`);
    const rows = fields.map((field) => `  ${fieldRow(field)},\n`);
    // An interface without members would accept anything, so an empty message is an empty record.
    const declaration =
      fields.length === 0
        ? `export type ${name} = Record<string, never>;\n`
        : `export interface ${name} {\n${declared.join('')}}\n`;
    const table = fields.length === 0 ? '[]' : `[\n${rows.join('')}]`;
    // Marked as pure, so that a bundle leaves out the messages that nobody uses.
    return `${declaration}export const ${name}: MessageType<${name}> = /* @__PURE__ */ new MessageType('${protoName}', ${table});\n`;
  }

  service({ name, methods }: ProtoService): string {
    const path = fullName(this.#file, name);
    const rows = methods.map(({ name: method, request, response, serverStreaming }) => {
      const types = [request, response].map((type) => this.#resolve(type, path).name);
      return (
        `  ${propertyName(method)}: { path: '/${path}/${method}', ` +
        `request: ${types[0]}, response: ${types[1]}, serverStreaming: ${serverStreaming} },\n`
      );
    });
    return (
      `export const ${typeScriptName(name)} = {\n${rows.join('')}} as const satisfies ` +
      `Record<string, MethodInfo<object, object>>;\n`
    );
  }

  #resolve(written: string, scope: string): ProtoSymbol {
    const symbol = resolveName(written, scope, this.#symbols);
    if (symbol.file === this.#file) return symbol;
    if (this.#ownNames.has(symbol.name))
      throw new Error(`${scope}: ${written} of ${symbol.file.fileName} has the name of a type of its own`);
    const names = this.imported.get(symbol.file) ?? new Set();
    this.imported.set(symbol.file, names.add(symbol.name));
    return symbol;
  }
}

/** One for each field, and one for each oneof: a union of its cases. */
function properties(fields: readonly TypedField[]): string[] {
  const oneofs = new Set<string>();
  return fields.flatMap((field) => {
    const { name, oneof } = field;
    if (oneof === undefined) return [`${propertyName(name)}${propertyType(field)}`];
    if (oneofs.has(oneof)) return [];
    oneofs.add(oneof);
    const cases = fields
      .filter((other) => other.oneof === oneof)
      .map((other) => `\n    | { case: '${propertyName(other.name)}'; value: ${valueType(other)} }`);
    return [`${propertyName(oneof)}?:${cases.join('')}\n    | undefined`];
  });
}

function propertyType(field: TypedField): string {
  const base = valueType(field);
  switch (field.shape) {
    case 'repeated':
      return `: ${base}[]`;
    case 'map':
      return `: Record<string, ${base}>`;
    case 'optional':
      return `?: ${base} | undefined`;
    case 'single':
      return field.symbol?.kind === 'message' ? `?: ${base} | undefined` : `: ${base}`;
  }
}

function valueType({ type, symbol, bigint }: TypedField): string {
  if (symbol !== undefined) return symbol.name;
  return bigint ? 'bigint' : (scalarTypes[type] ?? type);
}

function fieldRow(field: TypedField): string {
  const { name, number, shape, oneof } = field;
  let tail = shape === 'single' ? '' : `, '${shape}'`;
  if (oneof !== undefined) tail = `, { oneof: '${propertyName(oneof)}' }`;
  return `[${number}, '${propertyName(name)}', ${fieldKind(field)}${tail}]`;
}

function fieldKind({ type, symbol, bigint }: TypedField): string {
  if (symbol?.kind === 'message') return `() => ${symbol.name}`;
  if (symbol?.kind === 'enum') return "'enum'";
  if (!bigint) return `'${type}'`;
  return type === 'int64' ? "'bigint64'" : "'biguint64'";
}

/** `pod_sandbox_id` → `podSandboxId`, `CDI_devices` → `cdiDevices`, `uidMappings` stays. */
export function propertyName(protoName: string): string {
  const [first = '', ...rest] = protoName.split('_');
  const head = /^[A-Z0-9]+$/.test(first)
    ? first.toLowerCase()
    : first.charAt(0).toLowerCase() + first.slice(1);
  return head + rest.map((part) => part.charAt(0).toUpperCase() + part.slice(1)).join('');
}
