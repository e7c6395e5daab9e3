/** The one place that starts programs: it bounds their arguments, time and output. */
export * from './checked-word.js';
export { CommandLine, type ProgramName } from './command-line.js';
export * from './environment.js';
export { type NfsSource, nfsSource, parseNfsSource } from './nfs-source.js';
export { isSingleExecutable, ownArguments } from './own-program.js';
export {
  endText,
  type ProgramEnd,
  type ProgramOutput,
  type ProgramRunOptions,
  runProgram,
  runProgramSync,
  streamProgram,
} from './run.js';
export { type ProgramFailure, type ShellRunOptions, Shells } from './shells.js';
export { type ChildProcess, killProgram, type ProgramStartOptions, startProgram } from './start.js';
