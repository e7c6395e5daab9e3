/** Prints a parsed proto as TypeScript: interfaces, field tables, enum constants and method tables. */
import type { ProtoEnum, ProtoField, ProtoFile, ProtoMessage, ProtoService } from './parse.js';

const SCALAR_TYPES: Readonly<Record<string, string>> = {
  string: 'string',
  bytes: 'Uint8Array',
  bool: 'boolean',
  int32: 'number',
  uint32: 'number',
  int64: 'number',
  uint64: 'number',
  double: 'number',
};

interface Names {
  readonly enums: ReadonlySet<string>;
  readonly messages: ReadonlySet<string>;
}

export function printProto(file: ProtoFile): string {
  const names: Names = {
    enums: new Set(file.enums.map((declaration) => declaration.name)),
    messages: new Set(file.messages.map((message) => message.name)),
  };
  const imports =
    file.services.length > 0
      ? "import { type MethodInfo, MessageType } from '../../grpc/index.js';"
      : "import { MessageType } from '../../grpc/index.js';";
  return [
    `/** Generated from ${file.fileName} by \`npm run generate\`: edit the proto instead. */\n${imports}\n`,
    ...file.enums.map(printEnum),
    ...file.messages.map((message) => printMessage(message, file.package, names)),
    ...file.services.map((service) => printService(service, file.package)),
  ].join('\n');
}

function printEnum({ name, values }: ProtoEnum): string {
  const members = values.map((value) => `  ${value.name}: ${value.number},\n`).join('');
  return `export const ${name} = {\n${members}} as const;\nexport type ${name} = (typeof ${name})[keyof typeof ${name}];\n`;
}

function printMessage(message: ProtoMessage, packageName: string, names: Names): string {
  const { name, fields } = message;
  const resolved = fields.map((field) => ({ ...field, type: resolveType(field, message, names) }));
  const properties = resolved
    .map((field) => `  ${propertyName(field.name)}${propertyType(field, names)};\n`)
    .join('');
  const rows = resolved.map((field) => `  ${fieldRow(field, names)},\n`).join('');
  // An interface without members would accept anything, so an empty message is an empty record.
  const declaration =
    fields.length === 0
      ? `export type ${name} = Record<string, never>;\n`
      : `export interface ${name} {\n${properties}}\n`;
  const table = fields.length === 0 ? '[]' : `[\n${rows}]`;
  return `${declaration}export const ${name}: MessageType<${name}> = new MessageType('${packageName}.${name}', ${table});\n`;
}

function resolveType(field: ProtoField, message: ProtoMessage, names: Names): string {
  if (field.type in SCALAR_TYPES) return field.type;
  for (const name of [`${message.name}_${field.type}`, field.type]) {
    if (names.enums.has(name) || names.messages.has(name)) return name;
  }
  throw new Error(`${message.name}.${field.name}: unknown type ${field.type}`);
}

function propertyType({ type, shape, bigint }: ProtoField, names: Names): string {
  const base = bigint ? 'bigint' : (SCALAR_TYPES[type] ?? type);
  switch (shape) {
    case 'repeated':
      return `: ${base}[]`;
    case 'map':
      return `: Record<string, ${base}>`;
    case 'single':
      return names.messages.has(type) ? `?: ${base} | undefined` : `: ${base}`;
  }
}

function fieldRow({ name, number, type, shape, bigint }: ProtoField, names: Names): string {
  let kind = `'${bigint ? 'big' : ''}${type}'`;
  if (bigint && type === 'int64') kind = "'bigint64'";
  if (names.enums.has(type)) kind = "'enum'";
  if (names.messages.has(type)) kind = `() => ${type}`;
  const tail = shape === 'single' ? '' : `, '${shape}'`;
  return `[${number}, '${propertyName(name)}', ${kind}${tail}]`;
}

function printService({ name, methods }: ProtoService, packageName: string): string {
  const rows = methods.map((method) => {
    const { request, response, serverStreaming } = method;
    return (
      `  ${propertyName(method.name)}: { path: '/${packageName}.${name}/${method.name}', ` +
      `request: ${request}, response: ${response}, serverStreaming: ${serverStreaming} },\n`
    );
  });
  return (
    `export const ${name} = {\n${rows.join('')}} as const satisfies ` +
    `Record<string, MethodInfo<object, object>>;\n`
  );
}

/** `pod_sandbox_id` → `podSandboxId`, `CDI_devices` → `cdiDevices`, `uidMappings` stays. */
export function propertyName(protoName: string): string {
  const [first = '', ...rest] = protoName.split('_');
  const head = /^[A-Z0-9]+$/.test(first)
    ? first.toLowerCase()
    : first.charAt(0).toLowerCase() + first.slice(1);
  return head + rest.map((part) => part.charAt(0).toUpperCase() + part.slice(1)).join('');
}
