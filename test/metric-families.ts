/**
 * The metric families of the reference kubelet: type, stability, labels and buckets of each, who serves it here, or why
 * nobody does. Dashboards and alerts lose a family without an error, so tests hold both ways to this table.
 */
import type { Stability } from '../src/metrics/index.js';

export interface FamilyRow {
  readonly name: string;
  readonly type: string;
  readonly stability: Stability;
  /** Sorted. */
  readonly labels: readonly string[];
  /** Of a histogram. */
  readonly buckets: readonly number[] | undefined;
}

/** The buckets of histograms, by the name that a row has after its type. */
const bucketSets: Readonly<Record<string, readonly number[]>> = {
  default: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  certificateLife: [
    0, 1800, 3600, 7200, 21600, 43200, 86400, 172800, 345600, 604800, 2592000, 7776000, 15552000, 31104000,
  ],
  reviews: [0.25, 0.5, 0.7, 1, 1.5, 3, 5, 10],
  storage: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600],
  claims: [
    0.1, 0.1534127404634391, 0.23535468936502524, 0.36106407876409946, 0.5539182980610752, 0.849781240983936,
    1.303672689737678, 1.9999999999999993, 3.0682548092687805, 4.7070937873005025, 7.221281575281985,
    11.078365961221499, 16.995624819678714, 26.07345379475354, 39.99999999999997,
  ],
  certificateAge: [60, 3600, 14400, 86400, 604800, 2592000, 7776000, 15552000, 31104000, 124416000],
  containers: [1, 2, 4, 8, 16],
  pull: [1, 5, 10, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600],
  deferral: [5, 10, 15, 20, 30, 45, 60, 90, 120, 150, 180, 300, 600, 1200, 1800, 3600],
  resize: [10, 50, 100, 500, 1000, 2000, 5000, 10000, 20000, 30000, 60000, 120000, 300000, 600000],
  podStart: [
    0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700,
    3600,
  ],
  statusSync: [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 20, 30, 45, 60],
  runtime: [
    0.005, 0.0125, 0.03125, 0.078125, 0.1953125, 0.48828125, 1.220703125, 3.0517578125, 7.62939453125,
    19.073486328125, 47.6837158203125, 119.20928955078125, 298.0232238769531, 745.0580596923828,
  ],
  admission: [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6, 819.2],
  lookup: [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30],
  pluginCertificateAge: [
    600, 1800, 3600, 14400, 86400, 604800, 2592000, 7776000, 15552000, 31104000, 124416000,
  ],
  requests: [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60],
  sizes: [64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216],
  workQueue: [1e-8, 1e-7, 1e-6, 9.999999999999999e-6, 9.999999999999999e-5, 0.001, 0.01, 0.1, 1, 10],
};

/** `name type stability labels…`, a line each. */
function rows(text: string): FamilyRow[] {
  return text
    .split('\n')
    .flatMap((line) => line.trim() || [])
    .map((line) => {
      const [name = '', kind = '', stability = '', ...labels] = line.split(' ');
      const [type = '', buckets] = kind.split(':');
      return {
        name,
        type,
        // A wrong word equals no metric, so the tests find it.
        stability: stability as Stability,
        labels: labels.sort(),
        buckets: buckets === undefined ? undefined : bucketSets[buckets],
      };
    });
}

/** Of each kubelet, also one without a cluster. */
export const ofEveryKubelet = rows(`
  csi_node_storage_health_status gauge ALPHA driver_name reason status
  csi_operations_seconds histogram:storage ALPHA driver_name grpc_status_code method_name migrated
  kubelet_active_pods gauge ALPHA static
  kubelet_admission_rejections_total counter ALPHA reason
  kubelet_cgroup_version gauge ALPHA
  kubelet_container_aligned_compute_resources_count counter ALPHA boundary scope
  kubelet_container_aligned_compute_resources_failure_count counter ALPHA boundary scope
  kubelet_container_requested_resizes_total counter ALPHA operation requirement resource
  kubelet_containers_per_pod_count histogram:containers ALPHA
  kubelet_cpu_manager_allocation_per_numa gauge ALPHA numa_node
  kubelet_cpu_manager_exclusive_cpu_allocation_count gauge ALPHA
  kubelet_cpu_manager_pinning_errors_total counter ALPHA
  kubelet_cpu_manager_pinning_requests_total counter ALPHA
  kubelet_cpu_manager_shared_pool_size_millicores gauge ALPHA
  kubelet_cri_losing_support gauge ALPHA version
  kubelet_desired_pods gauge ALPHA static
  kubelet_evented_pleg_connection_error_count counter ALPHA
  kubelet_evented_pleg_connection_latency_seconds histogram:default ALPHA
  kubelet_evented_pleg_connection_success_count counter ALPHA
  kubelet_graceful_shutdown_end_time_seconds gauge ALPHA
  kubelet_graceful_shutdown_start_time_seconds gauge ALPHA
  kubelet_image_garbage_collected_total counter ALPHA reason
  kubelet_image_manager_ensure_image_requests_total counter ALPHA present_locally pull_policy pull_required
  kubelet_image_pull_duration_seconds histogram:pull ALPHA image_size_in_bytes
  kubelet_image_volume_mounted_errors_total counter BETA
  kubelet_image_volume_mounted_succeed_total counter BETA
  kubelet_image_volume_requested_total counter BETA
  kubelet_lifecycle_handler_http_fallbacks_total counter ALPHA
  kubelet_managed_ephemeral_containers gauge ALPHA
  kubelet_memory_manager_pinning_errors_total counter ALPHA
  kubelet_memory_manager_pinning_requests_total counter ALPHA
  kubelet_mirror_pods gauge ALPHA
  kubelet_node_name gauge ALPHA node
  kubelet_orphan_pod_cleaned_volumes gauge ALPHA
  kubelet_orphan_pod_cleaned_volumes_errors gauge ALPHA
  kubelet_orphaned_runtime_pods_total counter ALPHA
  kubelet_pleg_discard_events counter ALPHA
  kubelet_pleg_last_seen_seconds gauge ALPHA
  kubelet_pleg_pod_relist_duration_seconds histogram:default ALPHA
  kubelet_pleg_relist_duration_seconds histogram:default ALPHA
  kubelet_pleg_relist_interval_seconds histogram:default ALPHA
  kubelet_pod_deferred_accepted_resizes_total counter ALPHA retry_trigger
  kubelet_pod_deferred_resize_duration_seconds histogram:deferral ALPHA priority_bucket resolution
  kubelet_pod_in_progress_resizes gauge ALPHA
  kubelet_pod_infeasible_resizes_total counter ALPHA reason_detail
  kubelet_pod_level_resources_admission_total counter ALPHA config_mode qos_class
  kubelet_pod_pending_resizes gauge ALPHA priority_bucket reason
  kubelet_pod_requests_get_total counter ALPHA server_api_version status_code
  kubelet_pod_requests_list_total counter ALPHA server_api_version status_code
  kubelet_pod_requests_total counter ALPHA server_api_version status_code
  kubelet_pod_requests_watch_total counter ALPHA server_api_version status_code
  kubelet_pod_resize_duration_milliseconds histogram:resize ALPHA success
  kubelet_pod_start_duration_seconds histogram:podStart ALPHA
  kubelet_pod_watch_events_dropped_total counter ALPHA
  kubelet_pod_worker_duration_seconds histogram:default ALPHA operation_type
  kubelet_pod_worker_start_duration_seconds histogram:default ALPHA
  kubelet_preemptions counter ALPHA preemption_signal
  kubelet_restarted_pods_total counter ALPHA static
  kubelet_run_podsandbox_duration_seconds histogram:default ALPHA runtime_handler
  kubelet_run_podsandbox_errors_total counter ALPHA runtime_handler
  kubelet_running_containers gauge ALPHA container_state
  kubelet_running_pods gauge ALPHA
  kubelet_runtime_operations_duration_seconds histogram:runtime ALPHA operation_type
  kubelet_runtime_operations_errors_total counter ALPHA operation_type
  kubelet_runtime_operations_total counter ALPHA operation_type
  kubelet_sleep_action_terminated_early_total counter ALPHA
  kubelet_started_containers_errors_total counter ALPHA code container_type
  kubelet_started_containers_total counter ALPHA container_type
  kubelet_started_pods_errors_total counter ALPHA
  kubelet_started_pods_total counter ALPHA
  kubelet_started_user_namespaced_pods_errors_total counter ALPHA
  kubelet_started_user_namespaced_pods_total counter ALPHA
  kubelet_terminated_containers_total counter ALPHA container_type exit_code reason
  kubelet_topology_manager_admission_duration_ms histogram:admission ALPHA
  kubelet_topology_manager_admission_errors_total counter ALPHA
  kubelet_topology_manager_admission_requests_total counter ALPHA
  kubelet_working_pods gauge ALPHA config lifecycle static
  workqueue_adds_total counter BETA name
  workqueue_depth gauge BETA name
  workqueue_longest_running_processor_seconds gauge BETA name
  workqueue_queue_duration_seconds histogram:workQueue BETA name
  workqueue_retries_total counter BETA name
  workqueue_unfinished_work_seconds gauge BETA name
  workqueue_work_duration_seconds histogram:workQueue BETA name
`);

/** Of a cluster, and of directories for volumes. */
export const ofMembers = rows(`
  force_cleaned_failed_volume_operation_errors_total counter ALPHA
  force_cleaned_failed_volume_operations_total counter ALPHA
  kubelet_first_network_pod_start_sli_duration_seconds gauge INTERNAL
  kubelet_node_startup_duration_seconds gauge ALPHA
  kubelet_node_startup_post_registration_duration_seconds gauge ALPHA
  kubelet_node_startup_pre_kubelet_duration_seconds gauge ALPHA
  kubelet_node_startup_pre_registration_duration_seconds gauge ALPHA
  kubelet_node_startup_registration_duration_seconds gauge ALPHA
  kubelet_pod_start_sli_duration_seconds histogram:podStart ALPHA
  kubelet_pod_start_total_duration_seconds histogram:podStart ALPHA
  kubelet_pod_status_sync_duration_seconds histogram:statusSync ALPHA
  kubelet_podcertificate_states gauge ALPHA signer_name state
  reconstruct_volume_operations_errors_total counter ALPHA
  reconstruct_volume_operations_total counter ALPHA
  storage_operation_duration_seconds histogram:storage BETA migrated operation_name status volume_plugin
  volume_manager_selinux_container_errors_total gauge ALPHA access_mode
  volume_manager_selinux_container_warnings_total gauge ALPHA access_mode
  volume_manager_selinux_pod_context_mismatch_errors_total gauge ALPHA access_mode
  volume_manager_selinux_pod_context_mismatch_warnings_total gauge ALPHA access_mode
  volume_manager_selinux_volume_context_mismatch_errors_total gauge ALPHA access_mode volume_plugin
  volume_manager_selinux_volume_context_mismatch_warnings_total gauge ALPHA access_mode volume_plugin
  volume_manager_selinux_volumes_admitted_total gauge ALPHA access_mode volume_plugin
  volume_manager_total_volumes gauge ALPHA plugin_name state
  volume_operation_total_seconds histogram:storage BETA operation_name plugin_name
`);

/** What the agent has beside its kubelet, some of it only if the configuration asks for it. */
export const ofAgents = rows(`
  apiserver_client_certificate_expiration_seconds histogram:certificateLife ALPHA
  apiserver_delegated_authn_request_duration_seconds histogram:reviews ALPHA code
  apiserver_delegated_authn_request_total counter ALPHA code
  apiserver_delegated_authz_request_duration_seconds histogram:reviews ALPHA code
  apiserver_delegated_authz_request_total counter ALPHA code
  authentication_token_cache_active_fetch_count gauge ALPHA status
  authentication_token_cache_fetch_total counter ALPHA status
  authentication_token_cache_request_duration_seconds histogram:default ALPHA status
  authentication_token_cache_request_total counter ALPHA status
  disabled_metrics_total counter BETA
  dra_grpc_operations_duration_seconds histogram:claims ALPHA driver_name grpc_status_code method_name
  dra_node_prepare_skips_total counter ALPHA driver_name
  dra_node_unprepare_skips_total counter ALPHA driver_name
  dra_operations_duration_seconds histogram:claims ALPHA is_error operation_name
  dra_resource_claims_in_use gauge ALPHA driver_name
  hidden_metrics_total counter BETA
  kubelet_certificate_manager_client_expiration_renew_errors counter ALPHA
  kubelet_certificate_manager_client_ttl_seconds gauge ALPHA
  kubelet_certificate_manager_server_rotation_seconds histogram:certificateAge ALPHA
  kubelet_certificate_manager_server_ttl_seconds gauge ALPHA
  kubelet_cgroup_manager_duration_seconds histogram:default ALPHA operation_type
  kubelet_container_log_filesystem_used_bytes gauge ALPHA container namespace pod uid
  kubelet_credential_provider_config_info gauge ALPHA hash
  kubelet_credential_provider_plugin_duration histogram:default ALPHA plugin_name
  kubelet_credential_provider_plugin_errors_total counter ALPHA plugin_name
  kubelet_device_plugin_alloc_duration_seconds histogram:default ALPHA resource_name
  kubelet_device_plugin_registration_total counter ALPHA resource_name
  kubelet_eviction_stats_age_seconds histogram:default ALPHA eviction_signal
  kubelet_evictions counter ALPHA eviction_signal
  kubelet_http_inflight_requests gauge ALPHA long_running method path server_type
  kubelet_http_requests_duration_seconds histogram:default ALPHA long_running method path server_type
  kubelet_http_requests_total counter ALPHA long_running method path server_type
  kubelet_imagemanager_image_mustpull_checks_total counter ALPHA result
  kubelet_imagemanager_inmemory_pulledrecords_usage_percent gauge ALPHA
  kubelet_imagemanager_inmemory_pullintents_usage_percent gauge ALPHA
  kubelet_imagemanager_ondisk_pulledrecords gauge ALPHA
  kubelet_imagemanager_ondisk_pullintents gauge ALPHA
  kubelet_memory_qos_node_memory_low_bytes gauge ALPHA
  kubelet_memory_qos_node_memory_min_bytes gauge ALPHA
  kubelet_metrics_provider gauge ALPHA provider
  kubelet_pod_resources_endpoint_errors_get counter ALPHA server_api_version
  kubelet_pod_resources_endpoint_errors_get_allocatable counter ALPHA server_api_version
  kubelet_pod_resources_endpoint_errors_list counter ALPHA server_api_version
  kubelet_pod_resources_endpoint_requests_get counter ALPHA server_api_version
  kubelet_pod_resources_endpoint_requests_get_allocatable counter ALPHA server_api_version
  kubelet_pod_resources_endpoint_requests_list counter ALPHA server_api_version
  kubelet_pod_resources_endpoint_requests_total counter ALPHA server_api_version
  kubelet_resource_manager_allocation_errors_total counter ALPHA resource_name source
  kubelet_resource_manager_allocations_total counter ALPHA resource_name source
  kubelet_resource_manager_container_assignments_total counter ALPHA assignment_type resource_name
  kubelet_server_expiration_renew_errors counter ALPHA
  kubelet_volume_metric_collection_duration_seconds histogram:default ALPHA metric_source
  kubelet_volume_stats_available_bytes gauge ALPHA namespace persistentvolumeclaim
  kubelet_volume_stats_capacity_bytes gauge ALPHA namespace persistentvolumeclaim
  kubelet_volume_stats_inodes gauge ALPHA namespace persistentvolumeclaim
  kubelet_volume_stats_inodes_free gauge ALPHA namespace persistentvolumeclaim
  kubelet_volume_stats_inodes_used gauge ALPHA namespace persistentvolumeclaim
  kubelet_volume_stats_used_bytes gauge ALPHA namespace persistentvolumeclaim
  kubelet_websocket_streaming_requests_total counter ALPHA subresource
  kubernetes_build_info gauge BETA build_date compiler git_commit git_tree_state git_version go_version major minor platform
  kubernetes_feature_enabled gauge BETA name stage
  plugin_manager_total_plugins gauge ALPHA socket_path state
  process_cpu_seconds_total counter NONE
  process_max_fds gauge NONE
  process_network_receive_bytes_total counter NONE
  process_network_transmit_bytes_total counter NONE
  process_open_fds gauge NONE
  process_resident_memory_bytes gauge NONE
  process_start_time_seconds gauge NONE
  process_virtual_memory_bytes gauge NONE
  process_virtual_memory_max_bytes gauge NONE
  registered_metrics_total counter BETA deprecated_version stability_level
  rest_client_dns_resolution_duration_seconds histogram:lookup ALPHA host
  rest_client_exec_plugin_call_total counter ALPHA call_status code
  rest_client_exec_plugin_certificate_rotation_age histogram:pluginCertificateAge ALPHA
  rest_client_exec_plugin_ttl_seconds gauge ALPHA
  rest_client_rate_limiter_duration_seconds histogram:requests ALPHA host verb
  rest_client_request_duration_seconds histogram:requests ALPHA host verb
  rest_client_request_retries_total counter ALPHA code host verb
  rest_client_request_size_bytes histogram:sizes ALPHA host verb
  rest_client_requests_total counter ALPHA code host method
  rest_client_response_size_bytes histogram:sizes ALPHA host verb
  rest_client_transport_cache_entries gauge ALPHA
  rest_client_transport_create_calls_total counter ALPHA result
`);

/** Below `/metrics`, each on a page of its own. */
export const ofOtherPages = rows(`
  container_cpu_usage_seconds_total counter STABLE container namespace pod
  container_memory_working_set_bytes gauge STABLE container namespace pod
  container_start_time_seconds gauge STABLE container namespace pod
  container_swap_limit_bytes gauge ALPHA container namespace pod
  container_swap_usage_bytes gauge ALPHA container namespace pod
  kubernetes_healthcheck gauge STABLE name type
  kubernetes_healthchecks_total counter STABLE name status type
  node_cpu_usage_seconds_total counter STABLE
  node_memory_working_set_bytes gauge STABLE
  node_swap_usage_bytes gauge ALPHA
  pod_cpu_usage_seconds_total counter STABLE namespace pod
  pod_memory_working_set_bytes gauge STABLE namespace pod
  pod_swap_usage_bytes gauge ALPHA namespace pod
  prober_probe_duration_seconds histogram:default ALPHA container namespace pod probe_type
  prober_probe_total counter BETA container namespace pod pod_uid probe_type result
  process_start_time_seconds gauge ALPHA
  resource_scrape_error gauge STABLE
`);

/** Families of the reference that are not served here, and why. */
export const notServed: Readonly<Record<string, string>> = {
  kubelet_started_host_process_containers_total: 'host process containers are of Windows',
  kubelet_started_host_process_containers_errors_total: 'host process containers are of Windows',
  kubelet_volume_stats_health_status_abnormal: 'removed in 1.37',
  scrape_error: 'hidden since 1.30: served on /metrics/resource with showHiddenMetricsForVersion only',
  informer_processing_latency_seconds: 'the reference kubelet declares it and counts nothing',
  informer_queued_items: 'the reference kubelet declares it and counts nothing',
  leader_election_master_status: 'a kubelet has no leader',
  leader_election_slowpath_total: 'a kubelet has no leader',
  running_managed_controllers: 'a kubelet runs no managed controllers',
  version_info: 'a kubelet emulates no other version',
  cardinality_enforcement_unexpected_categorizations_total: 'no flag limits the labels of metrics',
  rest_client_exec_plugin_policy_call_total: 'a kubeconfig has no policy for its credential programs here',
  rest_client_transport_ca_reload_total: 'a new authority makes new connections instead of being reloaded',
  rest_client_transport_cache_gc_calls_total:
    'connections are closed when they are replaced, not by garbage collection',
  rest_client_transport_cert_rotation_gc_calls_total:
    'connections are closed when they are replaced, not by garbage collection',
  apiserver_audit_event_total: 'of a library for API servers; always 0 in a kubelet',
  apiserver_audit_requests_rejected_total: 'of a library for API servers; always 0 in a kubelet',
  apiserver_envelope_encryption_dek_cache_fill_percent: 'of a library for API servers; always 0 in a kubelet',
  apiserver_storage_data_key_generation_duration_seconds:
    'of a library for API servers; always 0 in a kubelet',
  apiserver_storage_data_key_generation_failures_total: 'of a library for API servers; always 0 in a kubelet',
  apiserver_storage_envelope_transformation_cache_misses_total:
    'of a library for API servers; always 0 in a kubelet',
  apiserver_validation_declarative_validation_mismatch_total:
    'of a library for API servers; always 0 in a kubelet',
  apiserver_validation_declarative_validation_panic_total:
    'of a library for API servers; always 0 in a kubelet',
  apiserver_validation_duplicate_validation_error_total:
    'of a library for API servers; always 0 in a kubelet',
  apiserver_webhooks_x509_insecure_sha1_total: 'of a library for API servers; always 0 in a kubelet',
  apiserver_webhooks_x509_missing_san_total: 'of a library for API servers; always 0 in a kubelet',
  aggregator_discovery_aggregation_count_total: 'of a library for API servers; always 0 in a kubelet',
  aggregator_discovery_nopeer_requests_total: 'of a library for API servers; always 0 in a kubelet',
  aggregator_discovery_peer_aggregated_cache_hits_total:
    'of a library for API servers; always 0 in a kubelet',
  aggregator_discovery_peer_aggregated_cache_misses_total:
    'of a library for API servers; always 0 in a kubelet',
};

/** Whole groups of the reference that are not served here, by how their names begin, and why. */
export const groupsNotServed: Readonly<Record<string, string>> = {
  go_: 'the memory and scheduler of the Go runtime',
};
