/** Generates the modules of a table of protos that may import each other. */
import path from 'node:path';
import { type ProtoFile, parseProto } from './parse.js';
import { printProto } from './print.js';
import { symbolsOf } from './symbols.js';

export interface ProtoEntry {
  /** From the root of the repository. Its module is `gen/<name>.ts` beside it. */
  readonly proto: string;
  /** How other protos import it. */
  readonly importedAs?: string;
}

export interface GeneratedModule {
  readonly path: string;
  readonly text: string;
}

const grpcRoom = 'src/grpc';

/** An import that is not in the table may provide options only: a type of it is unknown. */
export function generateModules(
  entries: readonly ProtoEntry[],
  read: (proto: string) => string,
): GeneratedModule[] {
  const parsed = entries.map((entry) => ({
    entry,
    output: outputOf(entry.proto),
    file: parseProto(read(entry.proto), path.posix.basename(entry.proto)),
  }));
  const outputs = new Map<ProtoFile, string>(parsed.map(({ file, output }) => [file, output]));
  return parsed.map(({ file, output }) => {
    const imported = parsed.filter(({ entry }) => file.imports.some((name) => name === entry.importedAs));
    const text = printProto(file, {
      symbols: symbolsOf([file, ...imported.map((other) => other.file)]),
      codecModule: modulePath(output, `${grpcRoom}/protobuf/codec.ts`),
      moduleOf: (other) => modulePath(output, outputs.get(other) ?? ''),
    });
    return { path: output, text };
  });
}

function outputOf(proto: string): string {
  return path.posix.join(path.posix.dirname(proto), 'gen', `${path.posix.basename(proto, '.proto')}.ts`);
}

/** Other rooms reach what is in the gRPC room through its index. */
function modulePath(from: string, to: string): string {
  const isForeign = to.startsWith(`${grpcRoom}/`) && !from.startsWith(`${grpcRoom}/`);
  const target = isForeign ? `${grpcRoom}/index.ts` : to;
  const relative = path.posix.relative(path.posix.dirname(from), target).replace(/\.ts$/, '.js');
  return relative.startsWith('.') ? relative : `./${relative}`;
}
