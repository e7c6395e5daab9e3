/** Who may use an image that is on the machine already. */
export {
  type MustPullResult,
  PullRecords,
  type PullRecordsObserver,
  type PullRecordsOptions,
  rememberedRecords,
} from './pull-records.js';
export type { VerificationPolicy } from './pulled-record.js';
