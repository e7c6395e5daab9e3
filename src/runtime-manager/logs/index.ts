/** Container logs: format, reading, following, rotation and termination messages. */
export { type ContainerLogsRequest, readContainerLogs } from './container-logs.js';
export * from './format.js';
export { type KeptLine, type KeptLog, readKeptLog } from './kept-lines.js';
export { LogRotator, type LogRotatorOptions } from './log-rotator.js';
export { type LogRequest, logOptions, type PodLogOptions } from './options.js';
export type { ContainerLogSink, LogSinks } from './output.js';
export { type ReadLogsRequest, readLogs } from './read.js';
export { type LogSelection, type LogSelectionInput, selectLogContainer } from './select.js';
export { terminationMessage } from './termination-message.js';
