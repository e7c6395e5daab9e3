/** Recording what comes in to a kubelet, and replaying it. */
export type { Difference } from './differences.js';
export type { RecordFileName } from './record-file.js';
export type { RecordedCluster } from './record-head.js';
export { RecordProblem } from './record-problem.js';
export { generationsIn } from './record-reader.js';
export { type Recording, type RecordingOptions, startRecording } from './recording.js';
export { type ReplayOutcome, replayRecord } from './replay.js';
