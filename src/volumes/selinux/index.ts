/** Mounts with an SELinux label: what containers ask for, and whether a volume gets it. */
export { type FileLabel, readFileLabel } from './file-label.js';
export {
  accessModeLabel,
  askedLabels,
  decideLabel,
  type LabelFinding,
  labelConflict,
  labelOption,
} from './label-decision.js';
