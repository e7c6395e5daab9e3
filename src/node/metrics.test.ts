import { expect, it } from 'vitest';
import { Registry } from '../metrics/index.js';
import {
  createClientCertificateMetrics,
  createServingCertificateMetrics,
  createStartUpMetrics,
  followCertificate,
  StartUpStages,
} from './metrics.js';

it.each([
  [true, '1.5'],
  [false, '0'],
])('startup durations are reported if this kubelet created the node: %s', (created, expected) => {
  const registry = new Registry();
  const moments = { machineStartMs: 0, kubeletStartMs: 10_000 };
  const stages = new StartUpStages(createStartUpMetrics(registry), moments);
  stages.registering(11_000);
  stages.registering(12_000);
  stages.registered(12_500, created);
  stages.ready(13_000);
  expect(registry.text()).toContain(`kubelet_node_startup_registration_duration_seconds ${expected}\n`);
});

it('certificate lifetimes are read at each scrape, and infinite without one', () => {
  const registry = new Registry();
  const client = createClientCertificateMetrics(registry);
  createServingCertificateMetrics(registry).rotationAge.observe(120);
  client.renewErrors.inc();
  followCertificate(registry, client, { ttlSeconds: () => 5 });
  const text = registry.text();
  for (const line of [
    'kubelet_certificate_manager_client_ttl_seconds 5',
    'kubelet_certificate_manager_client_expiration_renew_errors 1',
    'kubelet_certificate_manager_server_ttl_seconds +Inf',
    'kubelet_certificate_manager_server_rotation_seconds_count 1',
    'kubelet_server_expiration_renew_errors 0',
  ]) {
    expect(text).toContain(`${line}\n`);
  }
});
