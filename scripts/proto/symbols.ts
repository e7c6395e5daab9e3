/** Finds the message or enum that a name in a proto means, in the proto itself or in one that it imports. */
import type { ProtoFile } from './parse.js';

export interface ProtoSymbol {
  readonly kind: 'message' | 'enum';
  /** Its name in TypeScript: `Outer_Inner`. */
  readonly name: string;
  readonly file: ProtoFile;
}

/** By full name: `csi.v1.VolumeCapability.BlockVolume`. */
export type Symbols = ReadonlyMap<string, ProtoSymbol>;

export function typeScriptName(protoName: string): string {
  return protoName.replaceAll('.', '_');
}

export function fullName(file: ProtoFile, name: string): string {
  return file.package === '' ? name : `${file.package}.${name}`;
}

export function symbolsOf(files: readonly ProtoFile[]): Symbols {
  const symbols = new Map<string, ProtoSymbol>();
  for (const file of files) {
    for (const { name } of file.messages)
      symbols.set(fullName(file, name), { kind: 'message', name: typeScriptName(name), file });
    for (const { name } of file.enums)
      symbols.set(fullName(file, name), { kind: 'enum', name: typeScriptName(name), file });
  }
  return symbols;
}

/** The innermost scope that has the name wins, as in protobuf; a name that begins with a dot is a full one. */
export function resolveName(written: string, scope: string, symbols: Symbols): ProtoSymbol {
  if (written.startsWith('.')) {
    const found = symbols.get(written.slice(1));
    if (found !== undefined) return found;
  } else {
    const outer = scope.split('.');
    for (let depth = outer.length; depth >= 0; depth--) {
      const found = symbols.get([...outer.slice(0, depth), written].join('.'));
      if (found !== undefined) return found;
    }
  }
  throw new Error(
    `${scope}: unknown type ${written}; if it is imported, its proto must be in the table of generate-protos.ts`,
  );
}
