/** What has the resizes that wait tried again, by its name in metrics. */
export type RetryTrigger =
  | 'periodic_retry'
  | 'pod_updated'
  | 'pods_added'
  | 'pods_removed'
  | 'pod_terminated'
  | 'pod_resized';
