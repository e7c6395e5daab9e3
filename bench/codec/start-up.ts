/** Two small programs, bundled as nodelet is, that read and write one message: what a codec adds to a Node process. */
import { execFile } from 'node:child_process';
import { statSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { toBinary } from '@bufbuild/protobuf';
import { type FileDescriptorProto, FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { build, type Plugin } from 'esbuild';

export interface ProcessCost {
  /** CPU from the start of the process to the message written again. */
  readonly startCpuMs: number;
  readonly rssMegabytes: number;
}

const report = `
  const { user, system } = process.cpuUsage();
  console.log(JSON.stringify([(user + system) / 1000, process.memoryUsage.rss()]));`;
/** Nothing of the CRI is left out, as in the agent. */
const ours = `
  import { readFileSync } from 'node:fs';
  import { RuntimeService, ImageService } from './src/cri/gen/cri.js';
  globalThis.services = [RuntimeService, ImageService];
  const type = RuntimeService.listContainers.response;
  type.encode(type.decode(readFileSync(process.argv[2])));
  ${report}`;
/** The form of what protoc-gen-es generates: a descriptor in base64, and a schema for each message. */
const theirs = (descriptor: FileDescriptorProto): string => {
  const bytes = Buffer.from(toBinary(FileDescriptorProtoSchema, descriptor)).toString('base64');
  const schemas = descriptor.messageType.map((_, index) => `messageDesc(file, ${index})`);
  const index = descriptor.messageType.findIndex(({ name }) => name === 'ListContainersResponse');
  return `
    import { readFileSync } from 'node:fs';
    import { fromBinary, toBinary } from '@bufbuild/protobuf';
    import { fileDesc, messageDesc } from '@bufbuild/protobuf/codegenv2';
    const file = fileDesc('${bytes}');
    globalThis.services = [${schemas.join()}];
    const type = globalThis.services[${index}];
    toBinary(type, fromBinary(type, readFileSync(process.argv[2])));
    ${report}`;
};

export interface Program {
  readonly path: string;
  readonly sizeBytes: number;
}

export interface Programs {
  readonly ours: Program;
  readonly theirs: Program;
  readonly bare: Program;
}

/** Each takes the path of the message as its argument. */
export async function buildPrograms(dir: string, descriptor: FileDescriptorProto): Promise<Programs> {
  return {
    ours: await bundle(path.join(dir, 'ours.mjs'), ours),
    theirs: await bundle(path.join(dir, 'theirs.mjs'), theirs(descriptor)),
    bare: await bundle(path.join(dir, 'bare.mjs'), report),
  };
}

/** Generated modules reach the codec through its room, whose client and server are not compared here. */
const codecAlone: Plugin = {
  name: 'codec-alone',
  setup({ onResolve }) {
    onResolve({ filter: /grpc\/index\.js$/ }, () => ({
      path: path.join(import.meta.dirname, '../../src/grpc/protobuf/codec.ts'),
    }));
  },
};

async function bundle(outfile: string, source: string): Promise<Program> {
  await build({
    stdin: { contents: source, resolveDir: path.join(import.meta.dirname, '../..'), loader: 'ts' },
    outfile,
    bundle: true,
    minify: true,
    platform: 'node',
    format: 'esm',
    plugins: [codecAlone],
  });
  return { path: outfile, sizeBytes: statSync(outfile).size };
}

const run = promisify(execFile);

export async function costOf(program: Program, messagePath: string): Promise<ProcessCost> {
  const { stdout } = await run(process.execPath, [program.path, messagePath]);
  const [startCpuMs, rssBytes]: [number, number] = JSON.parse(stdout);
  return { startCpuMs, rssMegabytes: rssBytes / 1e6 };
}
