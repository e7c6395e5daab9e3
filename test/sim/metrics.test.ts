/** Holds the metrics of a whole node by name, type and labels: dashboards and alerts lose one without an error. */
import { afterEach, describe, expect, it } from 'vitest';
import { createApiRequestMetrics } from '../../src/kube-client/index.js';
import { Registry, registerProcessMetrics } from '../../src/metrics/index.js';
import {
  createClientCertificateMetrics,
  createServingCertificateMetrics,
  createShutdownMetrics,
} from '../../src/node/index.js';
import { registerPluginCounts } from '../../src/plugins/index.js';
import { createCgroupMetrics, createMemoryQosMetrics } from '../../src/resources/cgroups/index.js';
import { createEvictionMetrics } from '../../src/resources/eviction/index.js';
import {
  createStatsMetrics,
  createVolumeMeasureMetrics,
  registerVolumeMetrics,
} from '../../src/resources/stats/index.js';
import { createPluginMetrics, createPullRecordMetrics } from '../../src/runtime-manager/images/index.js';
import { createRequestMetrics, createStreamMetrics } from '../../src/server/metrics.js';
import { startMember } from './cluster-machine.js';
import { endNodes, startNode } from './node.js';

afterEach(endNodes);

const everyKubelet = `
  csi_operations_seconds histogram driver_name method_name grpc_status_code migrated
  kubelet_preemptions counter preemption_signal
  kubelet_active_pods gauge static
  kubelet_admission_rejections_total counter reason
  kubelet_cgroup_version gauge
  kubelet_container_requested_resizes_total counter resource requirement operation
  kubelet_container_aligned_compute_resources_count counter scope boundary
  kubelet_container_aligned_compute_resources_failure_count counter scope boundary
  kubelet_cpu_manager_allocation_per_numa gauge numa_node
  kubelet_cpu_manager_exclusive_cpu_allocation_count gauge
  kubelet_cpu_manager_pinning_errors_total counter
  kubelet_cpu_manager_pinning_requests_total counter
  kubelet_cpu_manager_shared_pool_size_millicores gauge
  kubelet_containers_per_pod_count histogram
  kubelet_cri_losing_support gauge version
  kubelet_desired_pods gauge static
  kubelet_evented_pleg_connection_error_count counter
  kubelet_evented_pleg_connection_latency_seconds histogram
  kubelet_evented_pleg_connection_success_count counter
  kubelet_image_garbage_collected_total counter reason
  kubelet_image_manager_ensure_image_requests_total counter pull_policy present_locally pull_required
  kubelet_image_pull_duration_seconds histogram image_size_in_bytes
  kubelet_image_volume_mounted_errors_total counter
  kubelet_image_volume_mounted_succeed_total counter
  kubelet_image_volume_requested_total counter
  kubelet_lifecycle_handler_http_fallbacks_total counter
  kubelet_managed_ephemeral_containers gauge
  kubelet_memory_manager_pinning_errors_total counter
  kubelet_memory_manager_pinning_requests_total counter
  kubelet_mirror_pods gauge
  kubelet_node_name gauge node
  kubelet_orphan_pod_cleaned_volumes gauge
  kubelet_orphan_pod_cleaned_volumes_errors gauge
  kubelet_orphaned_runtime_pods_total counter
  kubelet_pleg_discard_events counter
  kubelet_pleg_last_seen_seconds gauge
  kubelet_pleg_pod_relist_duration_seconds histogram
  kubelet_pleg_relist_duration_seconds histogram
  kubelet_pleg_relist_interval_seconds histogram
  kubelet_pod_deferred_accepted_resizes_total counter retry_trigger
  kubelet_pod_deferred_resize_duration_seconds histogram resolution priority_bucket
  kubelet_pod_in_progress_resizes gauge
  kubelet_pod_infeasible_resizes_total counter reason_detail
  kubelet_pod_pending_resizes gauge reason priority_bucket
  kubelet_pod_level_resources_admission_total counter config_mode qos_class
  kubelet_pod_resize_duration_milliseconds histogram success
  kubelet_pod_start_duration_seconds histogram
  kubelet_pod_worker_duration_seconds histogram operation_type
  kubelet_pod_worker_start_duration_seconds histogram
  kubelet_restarted_pods_total counter static
  kubelet_run_podsandbox_duration_seconds histogram runtime_handler
  kubelet_run_podsandbox_errors_total counter runtime_handler
  kubelet_running_containers gauge container_state
  kubelet_running_pods gauge
  kubelet_runtime_operations_duration_seconds histogram operation_type
  kubelet_runtime_operations_errors_total counter operation_type
  kubelet_runtime_operations_total counter operation_type
  kubelet_sleep_action_terminated_early_total counter
  kubelet_started_containers_errors_total counter container_type code
  kubelet_started_containers_total counter container_type
  kubelet_started_pods_errors_total counter
  kubelet_started_pods_total counter
  kubelet_started_user_namespaced_pods_errors_total counter
  kubelet_started_user_namespaced_pods_total counter
  kubelet_terminated_containers_total counter container_type exit_code reason
  kubelet_topology_manager_admission_duration_ms histogram
  kubelet_topology_manager_admission_errors_total counter
  kubelet_topology_manager_admission_requests_total counter
  kubelet_working_pods gauge lifecycle config static
`;

/** Of a cluster, and of directories for volumes. */
const memberOnly = `
  force_cleaned_failed_volume_operation_errors_total counter
  force_cleaned_failed_volume_operations_total counter
  kubelet_first_network_pod_start_sli_duration_seconds gauge
  kubelet_node_startup_duration_seconds gauge
  kubelet_node_startup_post_registration_duration_seconds gauge
  kubelet_node_startup_pre_kubelet_duration_seconds gauge
  kubelet_node_startup_pre_registration_duration_seconds gauge
  kubelet_node_startup_registration_duration_seconds gauge
  kubelet_pod_start_sli_duration_seconds histogram
  kubelet_pod_start_total_duration_seconds histogram
  kubelet_pod_status_sync_duration_seconds histogram
  reconstruct_volume_operations_errors_total counter
  reconstruct_volume_operations_total counter
  storage_operation_duration_seconds histogram volume_plugin operation_name status migrated
  volume_manager_selinux_container_errors_total counter access_mode
  volume_manager_selinux_container_warnings_total counter access_mode
  volume_manager_selinux_pod_context_mismatch_errors_total counter access_mode
  volume_manager_selinux_pod_context_mismatch_warnings_total counter access_mode
  volume_manager_selinux_volume_context_mismatch_errors_total counter volume_plugin access_mode
  volume_manager_selinux_volume_context_mismatch_warnings_total counter volume_plugin access_mode
  volume_manager_selinux_volumes_admitted_total counter volume_plugin access_mode
  volume_manager_total_volumes gauge plugin_name state
  volume_operation_total_seconds histogram plugin_name operation_name
`;

/** What the agent has beside its kubelet. */
const agentOnly = `
  kubelet_eviction_stats_age_seconds histogram eviction_signal
  kubelet_evictions counter eviction_signal
  kubelet_certificate_manager_client_expiration_renew_errors counter
  kubelet_certificate_manager_client_ttl_seconds gauge
  kubelet_certificate_manager_server_rotation_seconds histogram
  kubelet_certificate_manager_server_ttl_seconds gauge
  kubelet_cgroup_manager_duration_seconds histogram operation_type
  kubelet_credential_provider_config_info gauge hash
  kubelet_credential_provider_plugin_duration histogram plugin_name
  kubelet_credential_provider_plugin_errors_total counter plugin_name
  kubelet_graceful_shutdown_end_time_seconds gauge
  kubelet_graceful_shutdown_start_time_seconds gauge
  kubelet_http_inflight_requests gauge method path server_type long_running
  kubelet_http_requests_duration_seconds histogram method path server_type long_running
  kubelet_http_requests_total counter method path server_type long_running
  kubelet_imagemanager_image_mustpull_checks_total counter result
  kubelet_imagemanager_inmemory_pulledrecords_usage_percent gauge
  kubelet_imagemanager_inmemory_pullintents_usage_percent gauge
  kubelet_imagemanager_ondisk_pulledrecords gauge
  kubelet_imagemanager_ondisk_pullintents gauge
  kubelet_memory_qos_node_memory_low_bytes gauge
  kubelet_memory_qos_node_memory_min_bytes gauge
  kubelet_metrics_provider gauge provider
  kubelet_server_expiration_renew_errors counter
  kubelet_volume_metric_collection_duration_seconds histogram metric_source
  kubelet_volume_stats_available_bytes gauge namespace persistentvolumeclaim
  kubelet_volume_stats_capacity_bytes gauge namespace persistentvolumeclaim
  kubelet_volume_stats_inodes gauge namespace persistentvolumeclaim
  kubelet_volume_stats_inodes_free gauge namespace persistentvolumeclaim
  kubelet_volume_stats_inodes_used gauge namespace persistentvolumeclaim
  kubelet_volume_stats_used_bytes gauge namespace persistentvolumeclaim
  kubelet_websocket_streaming_requests_total counter subresource
  plugin_manager_total_plugins gauge socket_path state
  process_cpu_seconds_total counter
  process_max_fds gauge
  process_open_fds gauge
  process_resident_memory_bytes gauge
  process_start_time_seconds gauge
  process_virtual_memory_bytes gauge
  rest_client_rate_limiter_duration_seconds histogram verb host
  rest_client_request_duration_seconds histogram verb host
  rest_client_requests_total counter code method host
`;

const listed = (...texts: readonly string[]): string[] =>
  texts.flatMap((text) => text.split('\n').flatMap((line) => line.trim() || [])).sort();

const registered = (registry: Registry): string[] =>
  registry
    .metrics()
    .map(({ name, type, labelNames }) => [name, type, ...labelNames].join(' '))
    .sort();

describe('the metrics of', () => {
  it('a kubelet alone', async () => {
    const { kubelet } = await startNode();
    expect(registered(kubelet.registry)).toEqual(listed(everyKubelet));
  });

  it('a kubelet of a cluster', async () => {
    const { node } = await startMember();
    expect(registered(node.kubelet.registry)).toEqual(listed(everyKubelet, memberOnly));
  });

  it('what the agent opens around it', () => {
    const registry = new Registry();
    registerProcessMetrics(registry);
    createApiRequestMetrics(registry);
    createClientCertificateMetrics(registry);
    createServingCertificateMetrics(registry);
    createShutdownMetrics(registry);
    registerVolumeMetrics(registry, () => []);
    createVolumeMeasureMetrics(registry);
    createEvictionMetrics(registry);
    createStatsMetrics(registry);
    createCgroupMetrics(registry);
    createMemoryQosMetrics(registry);
    createPluginMetrics(registry);
    registerPluginCounts(registry, () => ({ desired: [], actual: [] }));
    createPullRecordMetrics(registry);
    createRequestMetrics(registry);
    createStreamMetrics(registry);
    expect(registered(registry)).toEqual(listed(agentOnly));
  });
});
