/** Who may use an image that is already present. */
export {
  type MustPullResult,
  PullRecords,
  type PullRecordsOptions,
} from './pull-records.js';
export type { VerificationPolicy } from './pulled-record.js';
