/**
 * The program of a pod sandbox: it holds the pod's namespaces, lets the kernel reap orphans, and ends on
 * SIGTERM.
 *
 * It is an ELF file of some two hundred bytes, assembled here, so that a sandbox needs no image from outside
 * and no program of the machine.
 */

const signals = { interrupt: 2, terminate: 15, child: 17 };
const ignore = 1n;
/** Tells the kernel that the action names a return address; our handler never returns. */
const hasRestorer = 0x0400_0000n;
const loadAddress = 0x40_0000;
const headersBytes = 64 + 56;
const actionBytes = 32;

export type PauseArchitecture = 'x64' | 'arm64';

export function isPauseArchitecture(arch: string): arch is PauseArchitecture {
  return arch === 'x64' || arch === 'arm64';
}

export function pauseProgram(arch: PauseArchitecture): Buffer {
  const { machine, code, handlerOffset } = arch === 'x64' ? x64Code() : arm64Code();
  const handler = BigInt(loadAddress + headersBytes + handlerOffset);
  const program = Buffer.concat([code, action(ignore, 0n, 0n), action(handler, hasRestorer, handler)]);
  return Buffer.concat([headers(machine, headersBytes + program.length), program]);
}

/** The kernel's struct: handler, flags, restorer, mask. */
function action(handler: bigint, flags: bigint, restorer: bigint): Buffer {
  const bytes = Buffer.alloc(actionBytes);
  bytes.writeBigUInt64LE(handler, 0);
  bytes.writeBigUInt64LE(flags, 8);
  bytes.writeBigUInt64LE(restorer, 16);
  return bytes;
}

/** One segment that is the whole file, readable and executable. */
function headers(machine: number, fileBytes: number): Buffer {
  const bytes = Buffer.alloc(headersBytes);
  Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]).copy(bytes);
  bytes.writeUInt16LE(2, 16); // an executable
  bytes.writeUInt16LE(machine, 18);
  bytes.writeUInt32LE(1, 20);
  bytes.writeBigUInt64LE(BigInt(loadAddress + headersBytes), 24); // entry
  bytes.writeBigUInt64LE(64n, 32); // program headers
  bytes.writeUInt16LE(64, 52);
  bytes.writeUInt16LE(56, 54);
  bytes.writeUInt16LE(1, 56);
  bytes.writeUInt32LE(1, 64); // to be loaded
  bytes.writeUInt32LE(5, 68); // read and execute
  bytes.writeBigUInt64LE(BigInt(loadAddress), 80);
  bytes.writeBigUInt64LE(BigInt(loadAddress), 88);
  bytes.writeBigUInt64LE(BigInt(fileBytes), 96);
  bytes.writeBigUInt64LE(BigInt(fileBytes), 104);
  bytes.writeBigUInt64LE(0x1000n, 112);
  return bytes;
}

interface MachineCode {
  /** The ELF machine number. */
  readonly machine: number;
  readonly code: Buffer;
  /** Offset of the SIGTERM and SIGINT handler in the code; the two actions follow the code. */
  readonly handlerOffset: number;
}

function x64Code(): MachineCode {
  const syscall = [0x0f, 0x05];
  const setEax = (value: number): number[] => [0xb8, ...int32(value)];
  const setEdi = (value: number): number[] => [0xbf, ...int32(value)];
  const sigaction = 13;
  /** rt_sigaction(signal, rip + distance, NULL, 8). */
  const setAction = (signal: number, distance: (after: number) => number, offset: number): number[] => [
    ...setEax(sigaction),
    ...setEdi(signal),
    ...[0x48, 0x8d, 0x35, ...int32(distance(offset + 17))], // lea rsi, [rip + distance]
    ...[0x31, 0xd2], // xor edx, edx
    ...[0x41, 0xba, ...int32(8)], // mov r10d, 8
    ...syscall,
  ];
  const setActionBytes = 27;
  const loop = [...setEax(34), ...syscall, 0xeb, 0xf7]; // pause(), and again
  const handler = [...setEax(231), 0x31, 0xff, ...syscall]; // exit_group(0)
  const handlerOffset = 3 * setActionBytes + loop.length;
  const end = handlerOffset + handler.length;
  const toIgnore = (after: number): number => end - after;
  const toEnd = (after: number): number => end + actionBytes - after;
  const code = Buffer.from([
    ...setAction(signals.child, toIgnore, 0),
    ...setAction(signals.terminate, toEnd, setActionBytes),
    ...setAction(signals.interrupt, toEnd, 2 * setActionBytes),
    ...loop,
    ...handler,
  ]);
  return { machine: 62, code, handlerOffset };
}

function arm64Code(): MachineCode {
  const svc = 0xd400_0001;
  const move = (register: number, value: number): number => (0xd280_0000 | (value << 5) | register) >>> 0;
  /** The address this many bytes from this instruction. */
  const address = (register: number, distance: number): number =>
    (0x1000_0000 | ((distance & 3) << 29) | (((distance >> 2) & 0x7_ffff) << 5) | register) >>> 0;
  const branch = (words: number): number => (0x1400_0000 | (words & 0x3ff_ffff)) >>> 0;
  const [sigaction, ppoll, exitGroup] = [134, 73, 94];
  const waiting = [move(8, ppoll), ...[0, 1, 2, 3, 4].map((register) => move(register, 0)), svc, branch(-7)];
  const handler = [move(8, exitGroup), move(0, 0), svc];
  const setActionWords = 6;
  const handlerWord = 3 * setActionWords + waiting.length;
  const endBytes = 4 * (handlerWord + handler.length);
  const setAction = (signal: number, target: number, firstWord: number): number[] => [
    move(8, sigaction),
    move(0, signal),
    address(1, target - 4 * (firstWord + 2)),
    move(2, 0),
    move(3, 8),
    svc,
  ];
  const words = [
    ...setAction(signals.child, endBytes, 0),
    ...setAction(signals.terminate, endBytes + actionBytes, setActionWords),
    ...setAction(signals.interrupt, endBytes + actionBytes, 2 * setActionWords),
    ...waiting,
    ...handler,
  ];
  return { machine: 183, code: Buffer.from(words.flatMap(int32)), handlerOffset: 4 * handlerWord };
}

function int32(value: number): number[] {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value | 0);
  return [...bytes];
}
