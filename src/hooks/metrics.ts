/** The metrics of lifecycle hooks. */
import { Registry } from '../metrics/index.js';

export type HookMetrics = ReturnType<typeof createHookMetrics>;

/** Without a registry nobody reads them. */
export function createHookMetrics(registry = new Registry()) {
  return {
    httpFallbacks: registry.counter(
      'kubelet_lifecycle_handler_http_fallbacks_total',
      'HTTPS hooks that got a plain HTTP response and succeeded over HTTP.',
    ),
    cutSleeps: registry.counter(
      'kubelet_sleep_action_terminated_early_total',
      'Sleep hooks that were cut short.',
    ),
  };
}
