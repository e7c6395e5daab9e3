/** The import direction of the rooms of src/, as data, and the judgement of files by it. */
import { builtinModules } from 'node:module';
import path from 'node:path';
import { judgeFileAccess } from './file-access.js';
import type { Import } from './read-imports.js';

const foundation = [
  'async',
  'programs',
  'x509',
  'kube',
  'kube-client',
  'metrics',
  'timeline',
  'host',
  'grpc',
  'kube-protobuf',
  'dbus',
  'tracing',
  'cri',
  'http-get',
] as const;
/** Rooms that meet only through small interfaces that the one in need declares. */
const peers = [
  'runtime-manager',
  'pods',
  'probes',
  'hooks',
  'volumes',
  'resources',
  'plugins',
  'node',
] as const;
const kubeletMay = [...foundation, 'config', ...peers, 'streaming', 'runtimes'] as const;
const agentMay = [...kubeletMay, 'kubelet', 'replay', 'server'] as const;
const bareNodeMay = [...agentMay, 'agent', 'kube-api', 'controllers', 'services'] as const;
const everything = [...bareNodeMay, 'flags', 'bare-node', 'hollow', 'page', 'cli'] as const;

/** The rooms that each room may import from; itself is always allowed. `index` is src/index.ts. */
export const allowedRooms: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  ['async', []],
  ['programs', ['async']],
  ['x509', ['async']],
  ['kube', ['async', 'programs']],
  ['kube-client', ['async', 'programs', 'x509', 'kube', 'metrics', 'tracing']],
  ['kube-api', ['async', 'x509', 'kube', 'kube-client', 'metrics', 'timeline', 'host', 'kube-protobuf']],
  ['controllers', ['async', 'kube', 'kube-client', 'timeline']],
  ['services', ['async', 'programs', 'kube', 'kube-client', 'timeline', 'host']],
  ['metrics', ['async']],
  ['timeline', ['async']],
  ['host', ['async', 'programs']],
  ['http-get', ['async', 'kube']],
  ['grpc', ['async']],
  ['kube-protobuf', ['async', 'grpc']],
  ['dbus', ['async']],
  ['tracing', ['async', 'grpc', 'metrics', 'timeline']],
  ['cri', ['async', 'grpc', 'kube', 'metrics', 'timeline', 'tracing']],
  ['flags', []],
  ['config', ['flags', 'kube']],
  ...peers.map((room): [string, readonly string[]] => [room, foundation]),
  ['streaming', ['async']],
  ['runtimes', ['async', 'programs', 'kube', 'timeline', 'host', 'cri', 'streaming']],
  ['kubelet', kubeletMay],
  ['replay', [...kubeletMay, 'kubelet']],
  ['server', [...kubeletMay, 'kubelet']],
  ['agent', agentMay],
  ['bare-node', bareNodeMay],
  ['hollow', [...agentMay, 'flags', 'agent']],
  ['page', ['async', 'streaming', 'timeline', 'server']],
  ['cli', everything],
  ['index', everything],
]);

export interface SourceFile {
  /** From the root of the repository, with forward slashes: `src/pods/index.ts`. */
  readonly path: string;
  readonly imports: readonly Import[];
}

export interface Violation {
  readonly path: string;
  readonly line: number;
  readonly message: string;
}

export function formatViolation({ path: file, line, message }: Violation): string {
  return `${file}:${line}: ${message}`;
}

/** Everything that breaks a rule, in the order of files and lines; cycles between rooms last. */
export function checkImports(files: readonly SourceFile[]): Violation[] {
  const violations = files.flatMap((file) =>
    file.imports.flatMap(({ specifier, line }) => {
      const message = judgeImport(file.path, specifier);
      return message === undefined ? [] : [{ path: file.path, line, message }];
    }),
  );
  return [...violations, ...roomCycles(files)];
}

const builtins = new Set(builtinModules);

/** The room that starts programs: it checks what they are given, and bounds how long they run and how much they say. */
const programRoom = 'programs';
const programModule = /^(node:)?child_process$/;

/** Which rule an import breaks; undefined when it is right. */
export function judgeImport(file: string, specifier: string): string | undefined {
  const unguarded = judgeFileAccess(file, specifier);
  if (unguarded !== undefined) return unguarded;
  if (!specifier.startsWith('.')) {
    if (programModule.test(specifier) && roomOf(file) !== programRoom && !isTestHelp(file))
      return `imports '${specifier}': only src/${programRoom} starts programs; use its functions`;
    return builtins.has(specifier)
      ? `imports '${specifier}': Node's own modules are named 'node:${specifier}'`
      : undefined;
  }
  const target = path.posix.join(path.posix.dirname(file), specifier);
  if (!target.startsWith('src/')) {
    return `imports '${specifier}' (${target}): src imports nothing outside src, least of all test and bench`;
  }
  // A test may set its room up with the help of any other; what ships may not.
  if (isTestHelp(file)) return undefined;
  const room = roomOf(file);
  const allowed = allowedRooms.get(room);
  if (allowed === undefined)
    return `imports '${specifier}': there is no rule for the room ${room}; add it to the table`;
  const targetRoom = roomOf(target);
  if (targetRoom === room || allowed.includes(targetRoom)) return undefined;
  const may = allowed.length === 0 ? 'no other room' : `only ${allowed.join(', ')}`;
  return `imports '${specifier}' (${targetRoom}): ${room} may import from ${may}`;
}

/** Rooms that reach themselves through others, each cycle reported once, where it begins. */
export function roomCycles(files: readonly SourceFile[]): Violation[] {
  const edges = new Map<string, Map<string, { path: string; line: number }>>();
  for (const file of files.filter(({ path: name }) => !isTest(name))) {
    const room = roomOf(file.path);
    for (const { specifier, line } of file.imports.filter((entry) => entry.specifier.startsWith('.'))) {
      const target = roomOf(path.posix.join(path.posix.dirname(file.path), specifier));
      if (target === room) continue;
      const known = edges.get(room) ?? new Map<string, { path: string; line: number }>();
      edges.set(room, known);
      if (!known.has(target)) known.set(target, { path: file.path, line });
    }
  }
  const found = new Map<string, Violation>();
  for (const [room, targets] of edges) {
    for (const [target, { path: file, line }] of targets) {
      const back = shortestWay(edges, target, room);
      if (back === undefined) continue;
      const key = [...back].sort().join(' ');
      const message = `closes a cycle of rooms: ${[room, ...back].join(' → ')}`;
      if (!found.has(key)) found.set(key, { path: file, line, message });
    }
  }
  return [...found.values()];
}

/** The rooms from one to the other, both included. */
function shortestWay(
  edges: ReadonlyMap<string, ReadonlyMap<string, unknown>>,
  from: string,
  to: string,
): readonly string[] | undefined {
  const queue: string[][] = [[from]];
  const seen = new Set([from]);
  for (const way of queue) {
    const last = way.at(-1) ?? from;
    if (last === to) return way;
    for (const next of edges.get(last)?.keys() ?? []) {
      if (seen.has(next)) continue;
      seen.add(next);
      queue.push([...way, next]);
    }
  }
  return undefined;
}

function isTest(file: string): boolean {
  return /\.test\.ts$/.test(file);
}

/** A test, or what only tests use: `test-pods.ts`. */
function isTestHelp(file: string): boolean {
  return isTest(file) || path.posix.basename(file).startsWith('test-');
}

/** `src/pods/sources/file.ts` is in `pods`; a file directly in src/ is a room of its own. */
function roomOf(file: string): string {
  const [, first = ''] = file.split('/');
  return first.replace(/\.[jt]s$/, '');
}
