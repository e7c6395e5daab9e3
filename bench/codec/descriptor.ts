/** Our CRI proto as the descriptor that protobuf's other tools work with, so that the same messages can be compared. */
import { readFileSync } from 'node:fs';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  type DescriptorProtoSchema,
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  type FieldDescriptorProtoSchema,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
} from '@bufbuild/protobuf/wkt';
import { type ProtoField, type ProtoMessage, parseProto } from '../../scripts/proto/parse.js';
import { fullName, resolveName, type Symbols, symbolsOf } from '../../scripts/proto/symbols.js';

type MessageInit = MessageInitShape<typeof DescriptorProtoSchema>;
type FieldInit = MessageInitShape<typeof FieldDescriptorProtoSchema>;

const scalars: Readonly<Record<string, FieldDescriptorProto_Type>> = {
  string: FieldDescriptorProto_Type.STRING,
  bytes: FieldDescriptorProto_Type.BYTES,
  bool: FieldDescriptorProto_Type.BOOL,
  int32: FieldDescriptorProto_Type.INT32,
  uint32: FieldDescriptorProto_Type.UINT32,
  int64: FieldDescriptorProto_Type.INT64,
  uint64: FieldDescriptorProto_Type.UINT64,
  double: FieldDescriptorProto_Type.DOUBLE,
};

export function criDescriptor(): FileDescriptorProto {
  const source = readFileSync(new URL('../../src/cri/cri.proto', import.meta.url), 'utf8');
  const file = parseProto(source, 'cri.proto');
  const symbols = symbolsOf([file]);
  const inside = (name: string, outer: string): boolean =>
    name.startsWith(`${outer}.`) && !name.slice(outer.length + 1).includes('.');
  const simple = (name: string): string => name.slice(name.lastIndexOf('.') + 1);
  const enumOf = ({ name, values }: (typeof file.enums)[number]) => ({
    name: simple(name),
    value: values.map((value) => ({ ...value })),
  });
  const messageOf = (message: ProtoMessage): MessageInit => {
    const scope = fullName(file, message.name);
    const entries: MessageInit[] = [];
    const field = message.fields.map((entry) => fieldOf(entry, scope, symbols, entries));
    return {
      name: simple(message.name),
      field,
      nestedType: [
        ...file.messages.filter(({ name }) => inside(name, message.name)).map(messageOf),
        ...entries,
      ],
      enumType: file.enums.filter(({ name }) => inside(name, message.name)).map(enumOf),
    };
  };
  return create(FileDescriptorProtoSchema, {
    name: 'cri.proto',
    package: file.package,
    syntax: 'proto3',
    messageType: file.messages.filter(({ name }) => !name.includes('.')).map(messageOf),
    enumType: file.enums.filter(({ name }) => !name.includes('.')).map(enumOf),
  });
}

/** A map becomes a message for its entries, which is added to `entries`. */
function fieldOf(field: ProtoField, scope: string, symbols: Symbols, entries: MessageInit[]): FieldInit {
  const { name, number, shape } = field;
  const type = typeOf(field, scope, symbols);
  if (shape === 'map') {
    const entryName = `${name.replace(/(^|_)(\w)/g, (_, __, letter) => String(letter).toUpperCase())}Entry`;
    const single = { label: FieldDescriptorProto_Label.OPTIONAL };
    entries.push({
      name: entryName,
      options: { mapEntry: true },
      field: [
        { name: 'key', number: 1, type: FieldDescriptorProto_Type.STRING, ...single },
        { name: 'value', number: 2, ...type, ...single },
      ],
    });
    return {
      name,
      number,
      type: FieldDescriptorProto_Type.MESSAGE,
      typeName: `.${scope}.${entryName}`,
      label: FieldDescriptorProto_Label.REPEATED,
    };
  }
  const label =
    shape === 'repeated' ? FieldDescriptorProto_Label.REPEATED : FieldDescriptorProto_Label.OPTIONAL;
  return { name, number, ...type, label };
}

function typeOf({ type }: ProtoField, scope: string, symbols: Symbols): FieldInit {
  const scalar = scalars[type];
  if (scalar !== undefined) return { type: scalar };
  const symbol = resolveName(type, scope, symbols);
  const typeName = [...symbols].find(([, other]) => other === symbol)?.[0] ?? type;
  return {
    type: symbol.kind === 'enum' ? FieldDescriptorProto_Type.ENUM : FieldDescriptorProto_Type.MESSAGE,
    typeName: `.${typeName}`,
  };
}
